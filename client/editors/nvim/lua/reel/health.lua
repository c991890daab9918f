--- The checks of :checkhealth reel.

local address = require 'reel.address'
local calls = require 'reel.calls'
local config = require 'reel.config'
local link = require 'reel.link'

local M = {}

local TIMEOUT_MS = 25000 -- `reel start` may take 20 s

--- Neovim 0.8 renamed the functions.
local function reporter()
  local health = vim.health or require 'health'
  return {
    start = health.start or health.report_start,
    ok = health.ok or health.report_ok,
    warn = health.warn or health.report_warn,
    error = health.error or health.report_error,
  }
end

function M.check()
  local report = reporter()
  report.start 'reel'
  if vim.fn.has 'nvim-0.7' == 1 then
    report.ok 'Neovim is 0.7 or newer'
  else
    report.error 'Neovim 0.7 or newer is needed'
  end
  if vim.fn.executable(config.command) == 1 then
    report.ok(("'%s' is on the path: a daemon can be started"):format(config.command))
  else
    report.warn(("'%s' is not on the path: no daemon can be started"):format(config.command), {
      "install reel as its README says",
      "or require('reel').setup{command = PATH}",
    })
  end
  local path = address.socket()
  local problem = address.problem(path)
  if problem then
    return report.error(problem)
  end
  local ok, failure = pcall(calls.wait, 'ping', {}, TIMEOUT_MS)
  if not ok then
    return report.error(failure)
  end
  local server = link.server.server
  report.ok(('reeld %s (pid %d) answers on %s'):format(server.version, server.pid, path))
end

return M
