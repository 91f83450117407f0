#!/bin/sh
# What `make demo` shows: the main job on the sample data, in a few commands.
set -eu
cd "$(dirname "$0")/.."
mkdir -p demo_output

show() {
    printf '\n\033[1m$ %s\033[0m\n' "$*"
    "$@"
}

show gml --version
show gml chowliu sample_data/asia.csv -f text
show gml chowliu sample_data/asia.csv -o demo_output/asia_tree.dot
show gml chowliu sample_data/cancer.csv --prune bic -f text
show gml chowliu sample_data/survey_missing.csv --missing drop --class Travel -f text
show gml pc sample_data/asia.csv --test-log demo_output/log.jsonl -o demo_output/asia_pc.dot
show gml explain demo_output/log.jsonl bronc dysp
show gml pc sample_data/asia.csv --tiers 'asia,smoke < tub,lung,bronc,either < xray,dysp' -f text
show gml imap sample_data/asia.csv --order asia,smoke,tub,lung,bronc,either,xray,dysp --score k2 -f text
show gml indtest sample_data/admissions.csv Admit Gender --weights Freq
show gml indtest sample_data/admissions.csv Admit Gender --given Dept --weights Freq --test permutation
show gml indtest sample_data/asia.csv --implied sample_data/asia.dot --adjust holm
show gml fit-params sample_data/asia.csv sample_data/asia.dot -o demo_output/model.json
show gml mrf sample_data/students.csv --weights Freq --structure complete -f text
show gml score sample_data/asia.csv demo_output/asia_tree.dot demo_output/model.json --folds 10
show gml compare sample_data/asia.dot demo_output/asia_pc.dot demo_output/asia_tree.dot
show gml query demo_output/model.json --target lung,bronc --evidence xray=yes
show gml sample demo_output/model.json -n 3 --do smoke=yes
show gml sample demo_output/model.json -n 2000 --seed 1 --do bronc=no -o demo_output/changed.csv
show gml check demo_output/changed.csv demo_output/model.json --warn-only
show gml convert demo_output/model.json demo_output/model.bif
show gml draw demo_output/asia_tree.dot -f text
show gml draw demo_output/model.json --evidence xray=yes -o demo_output/posterior.svg
printf '\nA picture of the model, given an x-ray: demo_output/posterior.svg\n'
printf 'gml is in .venv/bin: ". .venv/bin/activate" puts it on your path.\n'
