" Called by the driver of the tests: returns the value of an expression, or its error.
function ReelTestEval(text) abort
  try
    return [v:true, eval(a:text)]
  catch
    return [v:false, v:exception]
  endtry
endfunction

let g:reel_test_driver = ch_open('unix:' .. $REEL_TEST_DRIVER, #{mode: 'json'})
