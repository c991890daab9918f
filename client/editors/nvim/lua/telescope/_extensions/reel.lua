-- `:Telescope reel` chooses a conversation and `:Telescope reel search` a hit of a search, after
-- require('telescope').load_extension 'reel'.

return require('telescope').register_extension {
  exports = {
    reel = function()
      require('reel.commands').list_with(require('reel.pickers.telescope').show)
    end,
    search = function(options)
      require('reel.commands').search_with(require('reel.pickers.telescope').show, options.query)
    end,
  },
}
