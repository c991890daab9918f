--- What is said of an agent in a line, or in a few. Pure.

local view = require 'reel.view'

local M = {}

--- The line in a list.
function M.line(agent)
  return ('%s  %s%s'):format(agent.name, view.clock(agent.updated), agent.title and '  ' .. agent.title or '')
end

--- All that matters.
function M.paragraph(agent)
  local marks = vim.tbl_map(function(mark)
    return mark.label or ('(%d)'):format(mark.seq)
  end, agent.marks)
  local calls = vim.tbl_map(function(call)
    return ('%s (%s)'):format(call.name, call.id)
  end, agent.open_calls)
  local lines = {
    ('%s%s  %s'):format(agent.name, agent.alive and '' or ' (killed)', agent.id),
    ('%d messages, head %d, written %s'):format(agent.messages, agent.head, view.clock(agent.updated)),
  }
  for _, part in ipairs {
    { 'title', agent.title },
    { 'marks', #marks > 0 and table.concat(marks, ', ') or nil },
    { 'waiting for', #calls > 0 and table.concat(calls, ', ') or nil },
  } do
    if part[2] then
      table.insert(lines, ('%s: %s'):format(part[1], part[2]))
    end
  end
  return lines
end

return M
