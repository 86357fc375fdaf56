-- The table that leaves the house: dbt run --vars 'release: /path/of/the/release'
select * from read_csv('{{ var("release") }}/table.csv', all_varchar = true)
