-- ARGV: milliseconds to live, mark, now, moment of the newest message, messages, oldest first.
local key, list = KEYS[1], KEYS[2]
if redis.call('HEXISTS', key, 'gone') == 1 then return 0 end
if (redis.call('HGET', key, 'mark') or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', key, 'filled', ARGV[3], 'newest', ARGV[4])
redis.call('PEXPIRE', key, ARGV[1])
redis.call('DEL', list)
redis.call('LPUSH', list, unpack(ARGV, 5))
redis.call('PEXPIRE', list, ARGV[1])
return 1
