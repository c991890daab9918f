--- Lays out the hits of a search: in lines below their conversation, or each in one line. Pure.

local M = {}

local COLOURS = { system = 'ReelSystem', user = 'ReelUser', assistant = 'ReelAssistant', tool = 'ReelTool' }
local DAY = 24 * 3600
local AGES = { { 'y', 365 * DAY }, { 'mo', 30 * DAY }, { 'd', DAY }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } }

--- Return a text on one line, as long as it was: a line break would begin another line.
local function flat(text)
  return (text:gsub('%s', ' '))
end

--- Return the bytes at which the characters of a text begin, from 0, and after them its length.
local function offsets(text)
  local found = {}
  for position in text:gmatch '()[^\128-\191]' do
    table.insert(found, position - 1)
  end
  table.insert(found, #text)
  return found
end

--- Return the matches of a hit as pairs of begin and end in bytes, from 0.
local function matches(hit)
  local bytes = offsets(hit.snippet)
  return vim.tbl_map(function(match)
    return { bytes[match[1] + 1], bytes[match[2] + 1] }
  end, hit.matches)
end

--- Return how long ago a time was, in its largest unit.
local function age(time, now)
  local seconds = math.floor(now - time / 1000)
  for _, unit in ipairs(AGES) do
    if seconds >= unit[2] then
      return math.floor(seconds / unit[2]) .. unit[1]
    end
  end
  return 'now'
end

--- Add spans, pairs of a text and a colour or nil, as a line.
local function add(into, spans)
  local line, row = '', #into.lines
  for _, span in ipairs(spans) do
    if span[2] then
      local colour = { row = row, first = #line, last = #line + #span[1], colour = span[2] }
      table.insert(into.colours, colour)
    end
    line = line .. span[1]
  end
  table.insert(into.lines, line)
end

local function heading(hit, now)
  local role = hit.role or hit.kind
  local spans = { { ('  #%d  '):format(hit.seq) }, { role, COLOURS[role] or 'ReelNote' } }
  table.insert(spans, { '  ' .. age(hit.sent or hit.time, now), 'ReelNote' })
  table.insert(spans, hit.live and { '' } or { '  not in the conversation', 'ReelNote' })
  return spans
end

local function snippet(hit)
  local spans, done, text = { { '    ' } }, 0, flat(hit.snippet)
  for _, match in ipairs(matches(hit)) do
    table.insert(spans, { text:sub(done + 1, match[1]) })
    table.insert(spans, { text:sub(match[1] + 1, match[2]), 'ReelMatch' })
    done = match[2]
  end
  table.insert(spans, { text:sub(done + 1) })
  return spans
end

--- Return hits with those of each conversation together, conversations in the order of their first hit.
local function grouped(hits)
  local groups, order = {}, {}
  for _, hit in ipairs(hits) do
    if not groups[hit.agent] then
      groups[hit.agent] = {}
      table.insert(order, hit.agent)
    end
    table.insert(groups[hit.agent], hit)
  end
  local found = {}
  for _, agent in ipairs(order) do
    vim.list_extend(found, groups[agent])
  end
  return found
end

--- Return the lines of hits below the names of their conversations.
--- @param above string|nil the conversation of the hit above, whose name is not repeated
--- @param now number seconds since the epoch
--- @return table {lines, colours, hits by line, last}; `colours` is a list of {row, first, last, colour}, from 0, `last`
--- the conversation of the last hit
function M.lines(hits, above, now)
  local into = { lines = {}, colours = {}, hits = {}, last = above }
  for _, hit in ipairs(grouped(hits)) do
    if hit.agent ~= into.last then
      if into.last then
        add(into, {})
      end
      add(into, { { flat(hit.name), 'ReelName' }, { hit.title and flat('  ' .. hit.title) or '' } })
      into.hits[#into.lines] = hit
    end
    into.last = hit.agent
    for _, spans in ipairs { heading(hit, now), snippet(hit) } do
      add(into, spans)
      into.hits[#into.lines] = hit
    end
  end
  return into
end

--- Return a hit in one line.
function M.line(hit, now)
  local into = { lines = {}, colours = {} }
  add(into, heading(hit, now))
  add(into, snippet(hit))
  return flat(('%s%s  %s'):format(hit.name, into.lines[1]:sub(2), vim.trim(into.lines[2])))
end

--- Return what to look for in the message of a hit: the line around the first match, and the match alone, as a list of
--- {text, offset = of the match in it}.
function M.contexts(hit)
  local first = matches(hit)[1]
  if not first then
    return {}
  end
  local before = hit.snippet:sub(1, first[1]):match '[^\r\n]*$'
  local after = hit.snippet:sub(first[1] + 1):match '^[^\r\n]*'
  local match = hit.snippet:sub(first[1] + 1, first[2]):match '^[^\r\n]*'
  return { { text = before .. after, offset = #before }, { text = match, offset = 0 } }
end

return M
