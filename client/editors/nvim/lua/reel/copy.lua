--- A copy of a conversation's messages, kept by `keep` and `count` and nothing else. Pure: no editor, no wire.
---
--- A copy is {at, system, messages, reading, keep}. `at` is the newest seq that is known of. While `reading`, messages
--- are missing at the end: `request` says what to read, `page` takes it in, and what is pushed meanwhile only says how
--- much of all that still stands (`keep`).

local M = {}

local ALL = math.huge

--- The kinds after which the prompt may be another.
local PROMPT = { system = true, clear = true, rewind = true, restore = true, clone = true }

--- Begin with nothing, to be read as it is at a seq.
function M.new(at)
  return { at = at, system = nil, messages = {}, reading = true, keep = ALL }
end

local function truncate(messages, keep)
  for index = #messages, keep + 1, -1 do
    messages[index] = nil
  end
end

--- Take an event; give how many leading messages stand as they did, and whether to begin to read.
function M.event(copy, push)
  local messages = copy.messages
  local stand = math.min(#messages, push.keep)
  truncate(messages, push.keep)
  copy.at = push.seq
  if copy.reading then
    copy.keep = math.min(copy.keep, push.keep)
    return stand, false
  end
  if push.message then
    messages[#messages + 1] = push.message
  end
  copy.reading = #messages < push.count or PROMPT[push.kind] == true
  return stand, copy.reading
end

--- Forget all, to be read again, as it is at a seq where one is given; give whether to begin to read (a request that is
--- out goes on by itself).
function M.reset(copy, at)
  local begin = not copy.reading
  copy.at = at or copy.at
  copy.messages, copy.reading, copy.keep = {}, true, begin and ALL or 0
  return begin
end

--- What to ask `messages` for, by name.
function M.request(copy, agent)
  local last = copy.messages[#copy.messages]
  return { agent = agent, at = copy.at, since = last and last.seq or 0 }
end

--- Take the answer to a request; give how many leading messages stand as they did. Is it `reading` still, ask again.
function M.page(copy, page)
  local messages = copy.messages
  local stand = #messages
  for _, message in ipairs(page.messages) do
    if #messages < copy.keep then
      messages[#messages + 1] = message
    end
  end
  copy.system = page.system
  copy.reading = page.more or copy.keep < ALL
  copy.keep = ALL
  return stand
end

return M
