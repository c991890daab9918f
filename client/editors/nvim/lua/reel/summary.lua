--- A conversation in one line, or in a line for each fact. Pure.

local view = require 'reel.view'

local M = {}

local function one_line(text)
  return (text:gsub('[\r\n]+', ' '))
end

--- Return the line for a list.
function M.line(agent)
  local words = { agent.name, view.clock(agent.updated) }
  table.insert(words, agent.title)
  return one_line(table.concat(words, '  '))
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
function M.facts(agent)
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
    { 'cloned from', agent.source and ('%s at #%d'):format(agent.source.agent, agent.source.at) },
    { 'created', view.clock(agent.created) },
    { 'updated', view.clock(agent.updated) },
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
