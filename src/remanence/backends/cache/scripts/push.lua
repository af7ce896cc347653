-- ARGV: milliseconds to live, mark, moment of the first and the last message, messages, oldest
-- first. An empty moment: they are not in order, or too large to be kept.
local key, list = KEYS[1], KEYS[2]
if redis.call('HEXISTS', key, 'gone') == 1 then return 0 end
local had = redis.call('HMGET', key, 'mark', 'newest')
redis.call('HINCRBY', key, 'mark', 1)
redis.call('PEXPIRE', key, ARGV[1])
if redis.call('EXISTS', list) == 0 then return 0 end
local follows = ARGV[3] ~= '' and had[2] and ARGV[3] >= had[2]
if (had[1] or '0') ~= ARGV[2] or not follows then redis.call('DEL', list) return 0 end
redis.call('LPUSH', list, unpack(ARGV, 5))
redis.call('LTRIM', list, 0, 99)
redis.call('PEXPIRE', list, ARGV[1])
redis.call('HSET', key, 'newest', ARGV[4])
return 1
