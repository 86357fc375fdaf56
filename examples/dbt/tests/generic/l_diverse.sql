{# Fails for every group that has fewer than l different sensitive values. #}
{% test l_diverse(model, columns, sensitive, l) %}
select count(*) as rows_alike, count(distinct "{{ sensitive }}") as different_values
from {{ model }}
group by {% for column in columns %}"{{ column }}"{{ ", " if not loop.last }}{% endfor %}
having count(distinct "{{ sensitive }}") < {{ l }}
{% endtest %}
