--- A conversation in one line. Pure.

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

--- Return the short form of a conversation's name; an older daemon has none.
function M.name(agent)
  return agent.short or agent.name
end

--- Return a function that returns the line of each of some conversations, with the columns aligned: name, time of the
--- last change, number of messages, what it is about.
function M.line_of(agents)
  local width = 0
  for _, agent in ipairs(agents) do
    width = math.max(width, vim.fn.strdisplaywidth(M.name(agent)))
  end
  width = math.min(width, WIDEST)
  return function(agent)
    local name = M.name(agent)
    name = name .. (' '):rep(width - vim.fn.strdisplaywidth(name))
    local time = buffer.clock(agent.updated):sub(1, MINUTES)
    return vim.trim(one_line(('%s  %s  %5d  %s'):format(name, time, agent.messages or 0, about(agent))))
  end
end

return M
