{# Fails for every group of rows that look alike in these columns and are fewer than k. Only sizes are selected: the rows of a
   test may be stored or logged, and a small group is what nobody should see. #}
{% test k_anonymous(model, columns, k) %}
select count(*) as rows_alike
from {{ model }}
group by {% for column in columns %}"{{ column }}"{{ ", " if not loop.last }}{% endfor %}
having count(*) < {{ k }}
{% endtest %}
