--- The sub-commands of :Reel. Each is called with {text, lines}: the text after its name, and the lines of its range.

local calls = require 'reel.calls'
local conversation = require 'reel.conversation'
local errors = require 'reel.errors'
local link = require 'reel.link'
local summary = require 'reel.summary'

local M = { all = {} }

local all = M.all
local PAGE = 1000
local ENVELOPE = 1000 -- bytes of a message that are not its text

local function say(text)
  vim.api.nvim_echo({ { text } }, true, {})
end

--- Return a callback of calls that shows an error, and calls `on_result` with a result.
local function or_show(on_result)
  return function(problem, result)
    if problem then
      return errors.show(problem)
    end
    on_result(result)
  end
end

local function optional(text)
  return text ~= '' and text or nil
end

--- Run a method that writes on the current conversation; `describe` returns the line to show of its result.
local function write(method, params, describe)
  local current = conversation.current()
  params.agent = current.agent
  calls.command(method, params, or_show(function(result)
    say(('%s: %s'):format(current.name, describe(result)))
  end))
end

function all.open(given)
  local name = optional(given.text)
  if not name then
    return all.list()
  end
  calls.send('agent', { name }, function(problem)
    if problem then
      return errors.show(errors.naming(problem, name))
    end
    conversation.show(name)
  end)
end

function all.new(given)
  calls.command('create', { agent = optional(given.text) }, or_show(function(made)
    conversation.show(made.name)
  end))
end

function all.clone(given)
  local current = conversation.current()
  calls.command('clone', { agent = current.agent, name = optional(given.text) }, or_show(function(made)
    conversation.show(made.name)
  end))
end

local function replaced(count)
  return count and ('; %d character%s replaced by U+FFFD'):format(count, count == 1 and '' or 's') or ''
end

local function send(current, text)
  if text == '' then
    return say 'nothing sent'
  end
  local limit = link.server and link.server.limits.message
  if limit and #text > limit - ENVELOPE then
    local problem = 'the text has %d bytes; a message may have %d; send it in parts'
    return errors.show(errors.new('too_large', problem:format(#text, limit)))
  end
  calls.command('add', { agent = current.agent, messages = text }, or_show(function(result)
    say(('%s: added #%d%s'):format(current.name, result.first, replaced(result.replaced)))
  end))
end

function all.send(given)
  local current = conversation.current()
  local text, lines = given.text, given.lines and table.concat(given.lines, '\n')
  if lines then
    text = text == '' and lines or text .. '\n\n' .. lines
  end
  if text ~= '' or lines then
    return send(current, text)
  end
  vim.ui.input({ prompt = ('To %s: '):format(current.name) }, function(typed)
    send(current, typed or '')
  end)
end

function all.mark(given)
  local label = optional(given.text)
  write('mark', { label = label }, function(result)
    return ('mark%s set (#%d)'):format(label and ' ' .. label or '', result.seq)
  end)
end

function all.rewind(given)
  local label = optional(given.text)
  write('rewind', { label = label }, function(result)
    local dropped = result.dropped
    local mark = label and 'mark ' .. label or 'the newest mark'
    return ('back at %s (#%d); %d record%s set aside'):format(mark, result.target, dropped, dropped == 1 and '' or 's')
  end)
end

function all.undo()
  write('undo', {}, function(result)
    return ('undid #%d; :Reel redo brings it back'):format(result.undone)
  end)
end

function all.redo()
  write('redo', {}, function(result)
    return ('redid #%d'):format(result.redone)
  end)
end

function all.clear()
  write('clear', {}, function()
    return 'cleared; :Reel undo brings it back'
  end)
end

--- Read all live agents, page by page.
local function agents(found, after, done)
  calls.send('agents', { alive = true, limit = PAGE, after = after }, or_show(function(page)
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
      return say 'no conversations (:Reel new NAME creates one)'
    end
    table.sort(found, function(one, other)
      return one.updated > other.updated
    end)
    vim.ui.select(found, { prompt = 'Open: ', format_item = summary.line }, function(chosen)
      if chosen then
        conversation.show(chosen.name)
      end
    end)
  end)
end

function all.info()
  calls.send('agent', { conversation.current().agent }, or_show(function(agent)
    say(table.concat(summary.facts(agent), '\n'))
  end))
end

--- Return the names of the sub-commands, sorted.
function M.names()
  local names = vim.tbl_keys(all)
  table.sort(names)
  return names
end

--- Run the sub-command that :Reel was given; an error is shown as one line.
function M.run(given)
  local name, text = given.args:match '^%s*(%S*)%s*(.-)%s*$'
  local command = name == '' and all.list or all[name]
  if not command then
    local problem = ('no command "%s"; there are: %s'):format(name, table.concat(M.names(), ' '))
    return errors.show(errors.new('invalid_params', problem))
  end
  local lines = given.range > 0 and vim.api.nvim_buf_get_lines(0, given.line1 - 1, given.line2, false) or nil
  local ok, problem = pcall(command, { text = text, lines = lines })
  if not ok then
    errors.show(problem)
  end
end

return M
