--- Runs the user's own command, which lets a model answer: the plug-in calls no provider.

local address = require 'reel.address'
local config = require 'reel.config'
local environment = require 'reel.environment'
local errors = require 'reel.errors'

local M = {}

local jobs = {} -- by the conversation's buffer: its agent is a name first, and an id later

local function last_line(lines)
  return vim.trim(table.concat(lines, '\n')):match '[^\n]*$'
end

--- Raise why the command cannot be run for a conversation now, if it cannot.
function M.check(conversation)
  if jobs[conversation.buffer] then
    error(errors.new('busy', conversation.name .. ': the command is still running (:Reel stop ends it)'), 0)
  end
end

--- Run the command for a conversation: $REEL_AGENT is the conversation, $REEL_SOCKET the daemon's socket.
function M.start(conversation)
  M.check(conversation)
  local buffer, output = conversation.buffer, {}
  local command = config.ask or { config.command, 'ask' }
  local ok, job = pcall(vim.fn.jobstart, command, {
    stdin = 'null', -- `reel ask` reads a question from an open one
    env = { REEL_AGENT = conversation.name, REEL_SOCKET = address.socket(), PYTHONPATH = environment.python_path() },
    stderr_buffered = true,
    on_stderr = function(_, lines)
      output = lines
    end,
    on_exit = function(_, status)
      local stopped = jobs[buffer] == 'stopped'
      jobs[buffer] = nil
      vim.cmd 'redrawstatus!'
      if status ~= 0 and not stopped then
        local why = last_line(output)
        local line = why ~= '' and why or ('the command ended with status %d'):format(status)
        errors.show(errors.new('ask', ('%s: %s'):format(conversation.name, line)))
      end
    end,
  })
  if not ok or job <= 0 then -- Neovim raises that a program of a list cannot be run
    error(errors.new('ask', ('cannot run %s'):format(vim.inspect(command))), 0)
  end
  jobs[buffer] = job
end

--- Stop the command of a conversation.
function M.stop(conversation)
  local job = jobs[conversation.buffer]
  if type(job) ~= 'number' then
    error(errors.new('invalid_params', conversation.name .. ': no command is running'), 0)
  end
  jobs[conversation.buffer] = 'stopped'
  vim.fn.jobstop(job)
end

--- Return whether the command of a conversation is running.
function M.is_running(conversation)
  return jobs[conversation.buffer] ~= nil
end

return M
