--- A conversation in one line, or in a line for each fact. Pure.

local buffer = require 'reel.buffer'

local M = {}

local MINUTES = #'2026-11-22 10:29'
local WIDEST = 36 -- of the column for the name

local function one_line(text)
  return (text:gsub('[\r\n]+', ' '))
end

--- Return what a conversation is about: its title, else its first words; and who is writing.
local function about(agent)
  local words = {}
  table.insert(words, agent.title or agent.first_words)
  if agent.turn == 'tool' then
    table.insert(words, '(waits for a tool)')
  end
  for _, client in ipairs(agent.drafts or {}) do
    table.insert(words, ('(writing: %s)'):format(client == vim.NIL and 'somebody' or client))
  end
  return table.concat(words, '  ')
end

--- Return a function that returns the line of each of some conversations, with the columns aligned: name, time of the
--- last change, number of messages, what it is about.
function M.line_of(agents)
  local width = 0
  for _, agent in ipairs(agents) do
    width = math.max(width, vim.fn.strdisplaywidth(agent.name))
  end
  width = math.min(width, WIDEST)
  return function(agent)
    local name = agent.name .. (' '):rep(width - vim.fn.strdisplaywidth(agent.name))
    local time = buffer.clock(agent.updated):sub(1, MINUTES)
    return vim.trim(one_line(('%s  %s  %5d  %s'):format(name, time, agent.messages or 0, about(agent))))
  end
end

local function marks(agent)
  return table.concat(vim.tbl_map(function(mark)
    return (mark.label and mark.label .. ' ' or '') .. '#' .. mark.seq
  end, agent.marks), ', ')
end

local function open_calls(agent)
  return table.concat(vim.tbl_map(function(call)
    return ('%s %s'):format(call.name, call.id)
  end, agent.open_calls), ', ')
end

local function tags(agent)
  local found = {}
  for name, value in pairs(agent.tags) do
    table.insert(found, name .. '=' .. value)
  end
  table.sort(found)
  return table.concat(found, ', ')
end

--- Return the facts about a conversation, a line for each.
--- @param source string|nil the name of the conversation that it was cloned from
function M.facts(agent, source)
  local lines = {}
  for _, fact in ipairs {
    { 'name', agent.name },
    { 'id', agent.id },
    { 'state', agent.alive and '' or 'killed' },
    { 'title', agent.title },
    { 'messages', agent.messages },
    { 'head', '#' .. agent.head },
    { 'marks', marks(agent) },
    { 'waiting for', open_calls(agent) },
    { 'tags', tags(agent) },
    { 'cloned from', agent.source and ('%s at #%d'):format(source or agent.source.agent, agent.source.at) },
    { 'created', buffer.clock(agent.created) },
    { 'updated', buffer.clock(agent.updated) },
    { 'followers', agent.attached },
    { 'prompt', agent.system },
  } do
    if fact[2] and fact[2] ~= '' then
      table.insert(lines, ('%-12s %s'):format(fact[1], one_line(tostring(fact[2]))))
    end
  end
  return lines
end

return M
