--- The sub-commands of :Reel. Each is called with {text, lines}: what stands after its name, and the lines of its range.

local calls = require 'reel.calls'
local conversation = require 'reel.conversation'
local errors = require 'reel.errors'
local link = require 'reel.link'
local summary = require 'reel.summary'

local M = { all = {} }

local all = M.all
local PAGE = 1000

local function say(text)
  vim.api.nvim_echo({ { text } }, true, {})
end

--- Go on with what a call brings, or show what went wrong.
local function then_(go_on)
  return function(problem, result)
    if problem then
      return errors.show(problem)
    end
    go_on(result)
  end
end

local function optional(text)
  return text ~= '' and text or nil
end

local function required(given, what)
  return optional(given.text) or error(errors.text('invalid_params', what .. ' is missing'), 0)
end

--- Carry a command out on the current conversation; `told` makes a line of its result.
local function carry_out(method, named, told)
  local current = conversation.current()
  named.agent = current.agent
  calls.command(method, named, then_(function(result)
    say(('%s: %s'):format(current.name, told(result)))
  end))
end

function all.open(given)
  local name = required(given, 'open: the name of a conversation')
  calls.send('agent', { name }, then_(function()
    conversation.show(name)
  end))
end

function all.new(given)
  calls.command('create', { agent = optional(given.text) }, then_(function(made)
    conversation.show(made.name)
  end))
end

function all.clone(given)
  local current = conversation.current()
  calls.command('clone', { agent = current.agent, name = optional(given.text) }, then_(function(made)
    conversation.show(made.name)
  end))
end

local function send(current, text)
  local limit = link.server and link.server.limits.message
  if limit and #text > limit - PAGE then -- the envelope needs a little
    return errors.show(errors.new('too_large', ('send: %d bytes; a message may have %d'):format(#text, limit)))
  end
  calls.command('add', { agent = current.agent, messages = text }, then_(function() end))
end

function all.send(given)
  local current = conversation.current()
  local text, lines = given.text, given.lines and table.concat(given.lines, '\n')
  if lines then
    text = text == '' and lines or text .. '\n\n' .. lines
  end
  if text ~= '' then
    return send(current, text)
  end
  vim.ui.input({ prompt = ('to %s: '):format(current.name) }, function(typed)
    if typed and typed ~= '' then
      send(current, typed)
    end
  end)
end

function all.mark(given)
  carry_out('mark', { label = optional(given.text) }, function(result)
    return ('marked at %d'):format(result.seq)
  end)
end

function all.rewind(given)
  carry_out('rewind', { label = optional(given.text) }, function(result)
    return ('rewound to %d'):format(result.target)
  end)
end

function all.undo()
  carry_out('undo', {}, function(result)
    return ('command %d undone'):format(result.undone)
  end)
end

function all.redo()
  carry_out('redo', {}, function(result)
    return ('command %d done again'):format(result.redone)
  end)
end

function all.clear()
  carry_out('clear', {}, function()
    return 'cleared; :Reel undo brings it back'
  end)
end

--- Read all living agents, page by page.
local function agents(found, after, done)
  calls.send('agents', { alive = true, limit = PAGE, after = after }, then_(function(page)
    vim.list_extend(found, page.agents)
    if page.more then
      return agents(found, found[#found].id, done)
    end
    done(found)
  end))
end

function all.list()
  agents({}, nil, function(found)
    if #found == 0 then
      return say 'there are no conversations; begin one with :Reel new'
    end
    table.sort(found, function(one, other)
      return one.updated > other.updated
    end)
    vim.ui.select(found, { prompt = 'Open which?', format_item = summary.line }, function(chosen)
      if chosen then
        conversation.show(chosen.name)
      end
    end)
  end)
end

function all.info()
  calls.send('agent', { conversation.current().agent }, then_(function(agent)
    say(table.concat(summary.paragraph(agent), '\n'))
  end))
end

--- The names of the sub-commands, in order.
function M.names()
  local names = vim.tbl_keys(all)
  table.sort(names)
  return names
end

--- Run what :Reel was given; errors are one line.
function M.run(given)
  local name, text = given.args:match '^%s*(%S*)%s*(.-)%s*$'
  local command = all[name]
  if not command then
    local problem = ('Reel: no command %s; there are %s'):format(name, table.concat(M.names(), ', '))
    return errors.show(errors.new('invalid_params', problem))
  end
  local lines = given.range > 0 and vim.api.nvim_buf_get_lines(0, given.line1 - 1, given.line2, false) or nil
  local ok, problem = pcall(command, { text = text, lines = lines })
  if not ok then
    errors.show(problem)
  end
end

return M
