--- A copy of a conversation's messages, kept current by the fields `keep` and `count` of events. Pure: no editor, no
--- connection.
---
--- A copy is {at, system, messages, reading, keep}. `at` is the newest known seq. While `reading`, messages are missing
--- at the end: `request` returns what to read, `page` takes the reply. Events that arrive meanwhile only lower `keep`,
--- the number of leading messages that are still valid.

local M = {}

local ALL = math.huge

--- The kinds of events that may change the prompt.
local PROMPT = { system = true, clear = true, rewind = true, restore = true, clone = true }

--- Return an empty copy, to be read as the conversation is at a seq.
function M.new(at)
  return { at = at, system = nil, messages = {}, reading = true, keep = ALL }
end

local function truncate(messages, keep)
  for index = #messages, keep + 1, -1 do
    messages[index] = nil
  end
end

--- Take an event. Returns how many leading messages are unchanged, and whether to start reading.
function M.event(copy, push)
  local messages = copy.messages
  local unchanged = math.min(#messages, push.keep)
  truncate(messages, push.keep)
  copy.at = push.seq
  if copy.reading then
    copy.keep = math.min(copy.keep, push.keep)
    return unchanged, false
  end
  if push.message then
    messages[#messages + 1] = push.message
  end
  copy.reading = #messages < push.count or PROMPT[push.kind] == true
  return unchanged, copy.reading
end

--- Drop everything, to be read again, at a seq if one is given. Returns whether to start reading (a request under way
--- continues by itself).
function M.reset(copy, at)
  local begin = not copy.reading
  copy.at = at or copy.at
  copy.messages, copy.reading, copy.keep = {}, true, begin and ALL or 0
  return begin
end

--- Return the parameters for `messages`.
function M.request(copy, agent)
  local last = copy.messages[#copy.messages]
  return { agent = agent, at = copy.at, since = last and last.seq or 0 }
end

--- Take the reply to a request. Returns how many leading messages are unchanged. If still `reading`, request again.
function M.page(copy, page)
  local messages = copy.messages
  local unchanged = #messages
  for _, message in ipairs(page.messages) do
    if #messages < copy.keep then
      messages[#messages + 1] = message
    end
  end
  copy.system = page.system
  copy.reading = page.more or copy.keep < ALL
  copy.keep = ALL
  return unchanged
end

return M
