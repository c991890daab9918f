--- Completion of :Reel: sub-commands, names of conversations, labels of marks.

local calls = require 'reel.calls'
local commands = require 'reel.commands'
local conversation = require 'reel.conversation'
local summary = require 'reel.summary'

local M = {}

local TIMEOUT_MS = 1000
local SHOWN = 200

--- Return the words that begin with a prefix, each once.
local function beginning(prefix, words)
  local found, seen = {}, {}
  for _, word in ipairs(words) do
    if vim.startswith(word, prefix) and not seen[word] then
      seen[word] = true
      table.insert(found, word)
    end
  end
  return found
end

--- Return the names that begin with a prefix: all that `:Reel list` takes.
local function names(prefix)
  local page = calls.wait('agents', { prefix = prefix, alive = true }, TIMEOUT_MS)
  return vim.tbl_map(function(agent)
    return agent.name
  end, page.agents)
end

--- Return the shortest forms of conversations that begin with a prefix, else their names.
local function agents(prefix)
  local params = { prefix = prefix, alive = true, order = 'updated', details = true, limit = SHOWN }
  return vim.tbl_map(function(agent)
    local short = summary.name(agent)
    return vim.startswith(short, prefix) and short or agent.name
  end, calls.wait('agents', params, TIMEOUT_MS).agents)
end

local function marks()
  local agent = calls.wait('agent', { conversation.current().agent }, TIMEOUT_MS)
  local labels = {}
  for _, mark in ipairs(agent.marks) do
    table.insert(labels, mark.label) -- inserts nothing if the mark has no label
  end
  return labels
end

local function nothing()
  return {}
end

local ARGUMENTS = { open = agents, list = names, mark = marks, rewind = marks }

--- Return the completions of the last word of a command line. A label may have several words. If the daemon cannot be
--- asked, there are none.
function M.complete(prefix, line)
  local name, rest = line:match '^.-Reel!?%s+(%S+)%s+(.*)$'
  if not name then
    return beginning(prefix, commands.names())
  end
  local ok, words = pcall(ARGUMENTS[name] or nothing, rest)
  return vim.tbl_map(function(word)
    return word:sub(#rest - #prefix + 1)
  end, ok and beginning(rest, words) or {})
end

return M
