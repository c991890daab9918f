-- The command :Reel, its colours, and the buffers named reel://NAME. Everything else is loaded on first use.

if vim.g.loaded_reel then
  return
end
vim.g.loaded_reel = true

-- Not every plug-in manager makes the tags of the help, and nobody does without one.
local doc = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h') .. '/doc'
if vim.fn.getftime(doc .. '/tags') < vim.fn.getftime(doc .. '/reel.txt') and vim.fn.filewritable(doc) == 2 then
  vim.cmd('silent! helptags ' .. vim.fn.fnameescape(doc))
end

vim.api.nvim_create_user_command('Reel', function(given)
  require('reel.commands').run(given)
end, {
  nargs = '*',
  range = true,
  desc = 'Conversations of LLM agents',
  complete = function(prefix, line)
    return require('reel.completion').complete(prefix, line)
  end,
})

local group = vim.api.nvim_create_augroup('reel', {})
vim.api.nvim_create_autocmd('BufReadCmd', {
  group = group,
  pattern = 'reel://*',
  callback = function(event)
    require('reel.conversation').attach(event.buf, event.match:sub(#'reel://' + 1))
  end,
})
vim.api.nvim_create_autocmd('BufWinEnter', {
  group = group,
  pattern = 'reel://*',
  callback = function(event)
    require('reel.buffer').dress(event.buf)
  end,
})

local function colours()
  for name, link in pairs {
    ReelSystem = 'Special',
    ReelUser = 'Identifier',
    ReelAssistant = 'Function',
    ReelTool = 'Type',
    ReelDraft = 'WarningMsg',
    ReelNote = 'Comment',
    ReelMatch = 'Search',
    ReelName = 'Title',
  } do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end
vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = colours })
colours()
