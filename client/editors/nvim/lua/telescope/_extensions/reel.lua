-- `:Telescope reel` chooses a conversation, after require('telescope').load_extension 'reel'.

return require('telescope').register_extension {
  exports = {
    reel = function()
      require('reel.commands').list_with(require('reel.pickers.telescope').show)
    end,
  },
}
