#!/bin/sh
# Creates the missing secrets of an installation, one file each, and changes no existing one:
#   sh infra/deploy/docker/make-secrets.sh FOLDER [HOST:PORT of Postgres] [HOST:PORT of Redis]
# Only group 10001, which the containers run as, may read them; setting the group requires root.
set -eu
umask 077

folder=${1:?usage: make-secrets.sh FOLDER [POSTGRES [REDIS]]}
postgres=${2:-postgres:5432}
redis=${3:-redis:6379}
mkdir -p "$folder"

keep() { # a name; its content comes by standard input
  [ -s "$folder/$1" ] && return
  cat > "$folder/$1.new"
  mv "$folder/$1.new" "$folder/$1"
}
random() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }

# Seals stored passwords and plans: a backup of the database is unreadable without it. Keep a copy elsewhere.
random | keep parley_secret
random | keep postgres_password
random | keep redis_password
random | keep drachtio_secret
random | keep livekit_api_secret
printf 'postgres://parley:%s@%s/parley' "$(cat "$folder/postgres_password")" "$postgres" | keep database_url
printf 'redis://:%s@%s/0' "$(cat "$folder/redis_password")" "$redis" | keep redis_url
# LiveKit's own format; the name matches livekit.yaml.
printf 'parley: %s\n' "$(cat "$folder/livekit_api_secret")" | keep livekit_keys

for name in parley_secret postgres_password redis_password drachtio_secret livekit_api_secret database_url redis_url livekit_keys; do
  if [ "$(id -u)" = 0 ]; then chgrp 10001 "$folder/$name"; fi
  chmod 0440 "$folder/$name"
done
if [ "$(id -u)" = 0 ]; then chgrp 10001 "$folder"; fi
chmod 0750 "$folder"
