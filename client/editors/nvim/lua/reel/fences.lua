--- Highlights the code in the fences of a conversation, each language when it first appears.
---
--- The language is other people's text. So only the languages in this table are highlighted: nothing else of a fence
--- reaches a command.

local M = {}

-- The syntax file of each language, by the words that fences use.
local SYNTAX = {
  bash = 'sh',
  c = 'c',
  cpp = 'cpp',
  css = 'css',
  diff = 'diff',
  go = 'go',
  html = 'html',
  java = 'java',
  javascript = 'javascript',
  js = 'javascript',
  json = 'json',
  lua = 'lua',
  py = 'python',
  python = 'python',
  ruby = 'ruby',
  rust = 'rust',
  sh = 'sh',
  sql = 'sql',
  toml = 'toml',
  ts = 'typescript',
  typescript = 'typescript',
  vim = 'vim',
  yaml = 'yaml',
}

-- The longest line in bytes of a buffer that syntax files highlight. Their patterns are not made for long lines: with JSON
-- of 150 KB in one line they fail (E363), and 'synmaxcol' does not keep them from it.
local LONGEST = 3000

local REGION = [[syntax region reelFence_%s matchgroup=markdownCodeDelimiter start=/^\s*\z(`\{3,}\)\s*%s\>.*$/ ]]
  .. [[end=/^\s*\z1`*\s*$/ keepend contains=@reelFence_%s]]

local function has_treesitter(buffer)
  return require('vim.treesitter.highlighter').active[buffer] ~= nil
end

--- Have the fences of a language highlighted in the current buffer.
local function include(word)
  local syntax = SYNTAX[word]
  vim.cmd 'unlet! b:current_syntax'
  pcall(vim.cmd, ('syntax include @reelFence_%s syntax/%s.vim'):format(word, syntax))
  vim.cmd(REGION:format(word, word, word))
  vim.b.current_syntax = 'markdown'
end

--- Highlight the languages of fences that are new among some lines of a buffer; with a long line, nothing in it any more.
--- @param known table the languages that are highlighted already; new ones are added
function M.highlight(buffer, lines, known)
  if vim.bo[buffer].syntax ~= 'markdown' or has_treesitter(buffer) then -- treesitter highlights fences by itself
    return
  end
  for _, line in ipairs(lines) do
    if #line > LONGEST then
      vim.bo[buffer].syntax = ''
      return
    end
    local word = line:match '^%s*```+%s*(%w+)'
    if word and SYNTAX[word] and not known[word] then
      known[word] = true
      vim.api.nvim_buf_call(buffer, function()
        include(word)
      end)
    end
  end
end

return M
