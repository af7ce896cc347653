-- ARGV: milliseconds for which nothing is kept.
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('HSET', KEYS[1], 'gone', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
