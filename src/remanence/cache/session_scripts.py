"""What must happen at once inside a Redis or Valkey server, in its own language.

Every script has the hash of one session as KEYS[1] and, where it needs it, the list of its messages
as KEYS[2]; both lie on the same node. A hash with the field `gone` stands for a session that was
removed: what was read before that and arrives after it is not kept.

A full server refuses a script at the first command that takes memory, but not after one that has
written: so what adds comes before what deletes, except where deleting is the point.
"""

from __future__ import annotations

# ARGV: milliseconds to live, run and edition that were seen, run, edition, then fields and values.
KEEP = """
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
"""

# ARGV: milliseconds for which nothing is kept.
REMOVE = """
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('HSET', KEYS[1], 'gone', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
"""

# ARGV: milliseconds to live, mark, moment of the first and the last message, messages, oldest
# first. An empty moment: they are not in order, or too large to be kept.
PUSH = """
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
"""

# ARGV: milliseconds to live, mark, now, moment of the newest message, messages, oldest first.
FILL = """
local key, list = KEYS[1], KEYS[2]
if redis.call('HEXISTS', key, 'gone') == 1 then return 0 end
if (redis.call('HGET', key, 'mark') or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', key, 'filled', ARGV[3], 'newest', ARGV[4])
redis.call('PEXPIRE', key, ARGV[1])
redis.call('DEL', list)
redis.call('LPUSH', list, unpack(ARGV, 5))
redis.call('PEXPIRE', list, ARGV[1])
return 1
"""

# ARGV: milliseconds to live, for a hash that is made here.
FORGET = """
redis.call('DEL', KEYS[2])
redis.call('HINCRBY', KEYS[1], 'mark', 1)
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
"""
