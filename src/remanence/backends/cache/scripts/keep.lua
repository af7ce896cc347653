-- ARGV: milliseconds to live, run and edition that were seen, run, edition, then fields and values.
local key = KEYS[1]
if redis.call('HEXISTS', key, 'gone') == 1 then return 0 end
local had = redis.call('HMGET', key, 'run', 'edition')
if had[1] and not (had[1] == ARGV[2] and had[2] == ARGV[3]) then
  if had[1] ~= ARGV[4] then redis.call('DEL', key) return 0 end
  if tonumber(had[2]) > tonumber(ARGV[5]) then return 0 end
end
redis.call('HSET', key, unpack(ARGV, 6))
redis.call('PEXPIRE', key, ARGV[1])
return 1
