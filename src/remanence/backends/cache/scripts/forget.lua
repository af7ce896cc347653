-- ARGV: milliseconds to live, for a hash that is made here.
redis.call('DEL', KEYS[2])
redis.call('HINCRBY', KEYS[1], 'mark', 1)
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
