{# Fails for every identifier that is still a column. #}
{% test lacks_columns(model, columns) %}
select column_name
from (describe select * from {{ model }})
where lower(column_name) in ({% for column in columns %}lower('{{ column }}'){{ ", " if not loop.last }}{% endfor %})
{% endtest %}
