--- The sub-commands of :Reel. Each is called with {text, lines}: the text after its name, and the lines of its range.

local agents = require 'reel.agents'
local ask = require 'reel.ask'
local calls = require 'reel.calls'
local compose = require 'reel.compose'
local conversation = require 'reel.conversation'
local errors = require 'reel.errors'
local notices = require 'reel.notices'
local picker = require 'reel.picker'
local search = require 'reel.search'
local sending = require 'reel.sending'
local summary = require 'reel.summary'

local M = { all = {} }

local all = M.all

-- The commands that people know by their kind; all others added messages.
local KINDS = { clear = true, clone = true, mark = true, restore = true, rewind = true }

local say, or_show = notices.say, notices.or_show

local function optional(text)
  return text ~= '' and text or nil
end

local function count(number, thing)
  return ('%d %s%s'):format(number, thing, number == 1 and '' or 's')
end

--- Run a method that writes on the current conversation; `describe` returns the line to show of its result.
local function write(method, params, describe)
  local current = conversation.current()
  params.agent = current.agent
  calls.command(method, params, or_show(function(result)
    say(('%s: %s'):format(current.name, describe(result)))
  end))
end

--- Call `done` with what to call a command: `the rewind (#7)`, or `#3` if it added messages.
local function called(agent, seq, done)
  calls.send('history', { agent = agent, since = seq - 1, limit = 1 }, function(_, page)
    local event = page and page.events[1]
    done(event and KINDS[event.kind] and ('the %s (#%d)'):format(event.kind, seq) or '#' .. seq)
  end)
end

function all.open(given)
  local name = optional(given.text)
  if not name then
    return all.list(given)
  end
  agents.find(name, or_show(function(agent)
    conversation.show(name == agent.id and name or agent.name, agent.id)
  end))
end

function all.new(given)
  calls.command('create', { agent = optional(given.text) }, or_show(function(made)
    conversation.show(made.name, made.id)
  end))
end

function all.clone(given)
  local current = conversation.current()
  local params = { agent = current.agent, at = current.past, name = optional(given.text) }
  calls.command('clone', params, or_show(function(made)
    conversation.show(made.name, made.id)
  end))
end

--- Return the text to send: what was typed, then the lines of the range; nil if there is neither.
local function text_of(given)
  local lines = given.lines and table.concat(given.lines, '\n')
  if lines and given.text ~= '' then
    return given.text .. '\n\n' .. lines
  end
  return lines or optional(given.text)
end

function all.send(given)
  local current, text = conversation.current(), text_of(given)
  if text then
    return sending.send(current, text, or_show(say))
  end
  vim.ui.input({ prompt = ('To %s: '):format(current.name) }, function(typed)
    sending.send(current, typed or '', or_show(say))
  end)
end

function all.compose()
  compose.open(conversation.current())
end

function all.ask(given)
  local current, text = conversation.current(), text_of(given)
  if not text then
    return ask.start(current)
  end
  ask.check(current)
  sending.send(current, text, or_show(function(line)
    say(line)
    ask.start(current)
  end))
end

function all.stop()
  ask.stop(conversation.current())
end

--- Copy what the daemon finds in the current conversation to the register that was named, or to the default one. It waits,
--- so that a mapping can go on with the register.
--- @param code boolean whether it is the last code block of an answer, and not the last answer
--- @param missing string what is missing if there is nothing
--- @param describe function returns what to call the copied lines
local function copy(given, code, missing, describe)
  local current = conversation.current()
  local found = calls.wait('answer', { agent = current.agent, code = code })
  if not found.seq then
    error(errors.new('not_found', ('%s: %s'):format(current.name, missing)), 0)
  end
  local lines = vim.split(found.text, '\n', { plain = true })
  vim.fn.setreg(optional(given.text) or vim.v.register, lines, 'l')
  say(('%s: copied %s'):format(current.name, describe(found, lines)))
end

function all.code(given)
  copy(given, true, 'no code block in an answer', function(block, lines)
    local language = block.language ~= '' and ' of ' .. block.language or ''
    return ('%s%s from #%d'):format(count(#lines, 'line'), language, block.seq)
  end)
end

function all.answer(given)
  copy(given, false, 'no answer to copy', function(answer)
    return ('the answer #%d'):format(answer.seq)
  end)
end

function all.mark(given)
  local label = optional(given.text)
  write('mark', { label = label }, function(result)
    return ('marked%s (#%d)'):format(label and ' as ' .. label or '', result.seq)
  end)
end

function all.rewind(given)
  local label = optional(given.text)
  write('rewind', { label = label }, function(result)
    local called = result.label or label
    local mark = called and ('%s (#%d)'):format(called, result.target) or 'mark #' .. result.target
    return ('back at %s; %s set aside'):format(mark, count(result.dropped, 'message'))
  end)
end

--- Undo or redo on the current conversation.
--- @param field string the field of the reply with the seq of the command
--- @param line string the line to show, with %s for the conversation and for the command
local function undo_or_redo(method, field, line)
  local current = conversation.current()
  calls.command(method, { agent = current.agent }, or_show(function(result)
    called(current.agent, result[field], function(what)
      say(line:format(current.name, what))
    end)
  end))
end

function all.undo()
  undo_or_redo('undo', 'undone', '%s: undid %s; :Reel redo does it again')
end

function all.redo()
  undo_or_redo('redo', 'redone', '%s: redid %s')
end

function all.clear()
  write('clear', {}, function()
    return 'cleared; :Reel undo brings it back'
  end)
end

function all.rename(given)
  local current, name = conversation.current(), optional(given.text)
  local before = current.name -- a push may bring the new one before the reply
  if not name then
    return errors.show(errors.new('invalid_params', 'rename: the new name is missing (:Reel rename NAME)'))
  end
  calls.command('change', { agent = current.agent, name = name }, or_show(function(agent)
    say(('%s renamed to %s'):format(before, agent.name))
  end))
end

function all.title(given)
  write('change', { title = given.text }, function(agent)
    return agent.title or 'no title'
  end)
end

--- List the conversations with a picker, a function as in reel.picker.
function M.list_with(show, prefix)
  agents.read({ prefix = prefix }, or_show(function(found)
    if #found > 0 then
      return show {
        title = 'Conversations',
        prompt = 'Open: ',
        items = found,
        line = summary.line_of(found),
        choose = function(agent)
          conversation.show(agent.name, agent.id)
        end,
      }
    end
    say(
      prefix and ('no conversation begins with %s (:Reel list shows all)'):format(prefix)
        or 'no conversations (:Reel new NAME creates one)'
    )
  end))
end

function all.list(given)
  M.list_with(picker.show, optional(given.text))
end

--- Search all conversations for a text, or for one that the user is asked for.
--- @param show function|nil a picker, as in reel.picker; the default is the one that is set
function M.search_with(show, text)
  if text then
    return search.start(text, show)
  end
  vim.ui.input({ prompt = 'Search: ' }, function(typed)
    if typed and typed:find '%S' then
      search.start(typed, show)
    end
  end)
end

function all.search(given)
  M.search_with(picker.other(), optional(given.text))
end

function all.info()
  calls.send('facts', { conversation.current().agent }, or_show(function(found)
    say(table.concat(found.lines, '\n'))
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
