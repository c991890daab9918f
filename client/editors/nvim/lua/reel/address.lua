--- The path of the daemon's socket, and whether it is safe to connect to it.

local config = require 'reel.config'
local environment = require 'reel.environment'

local M = {}

local GROUP_AND_OTHERS = 63 -- 0077
local MODES = 512 -- 01000

local function fallback_directory()
  return ('/tmp/reel-%d'):format(vim.loop.getuid())
end

local asked, configured = false, nil

--- Return the path that `reel socket` prints, or nil if no reeld.toml could set one. The command runs once.
local function from_file()
  local home = vim.env.XDG_CONFIG_HOME
  local directory = home and home ~= '' and home or (vim.env.HOME or '') .. '/.config'
  if not asked and vim.loop.fs_stat(directory .. '/reel/reeld.toml') and vim.fn.executable(config.command) == 1 then
    asked = true
    local said = vim.fn.system { 'env', 'PYTHONPATH=' .. environment.python_path(), config.command, 'socket' }
    configured = vim.v.shell_error == 0 and vim.trim(said) or nil
  end
  return configured
end

--- Return the path of the socket. The first that is set wins: setup(), $REEL_SOCKET, reeld.toml; then the runtime
--- directory, then /tmp.
function M.socket()
  if config.socket then
    return config.socket
  end
  local given, runtime = vim.env.REEL_SOCKET, vim.env.XDG_RUNTIME_DIR
  if given and given ~= '' then
    return given
  end
  local named = from_file()
  if named then
    return named
  end
  if runtime and runtime ~= '' then
    return runtime .. '/reel/reel.sock'
  end
  return fallback_directory() .. '/reel.sock'
end

--- Return why it is not safe to connect to a path; nil if it is safe, or nothing is there yet.
--- Anybody can make a directory in /tmp, so the fallback directory must be the user's own, closed to others, and not a
--- link.
function M.problem(path)
  local fallback = fallback_directory()
  if path == fallback .. '/reel.sock' then
    local directory = vim.loop.fs_lstat(fallback)
    if directory and directory.type ~= 'directory' then
      return fallback .. ' is not a directory; remove it'
    end
    if directory and (directory.uid ~= vim.loop.getuid() or directory.mode % MODES % (GROUP_AND_OTHERS + 1) ~= 0) then
      return fallback .. ' is open to others; remove it, or set REEL_SOCKET'
    end
  end
  local socket = vim.loop.fs_stat(path)
  if socket and socket.type ~= 'socket' then
    return path .. ' is not a socket'
  end
  if socket and socket.uid ~= vim.loop.getuid() then
    return ('%s belongs to another user (uid %d)'):format(path, socket.uid)
  end
end

return M
