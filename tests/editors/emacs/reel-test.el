;;; reel-test.el --- What the plug-in computes, without a daemon  -*- lexical-binding: t; -*-

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'reel)

(defmacro reel-test-with (environment &rest body)
  "Evaluate BODY with the variables in ENVIRONMENT, pairs, and no others."
  (declare (indent 1))
  `(let ((process-environment (mapcar (lambda (pair) (concat (car pair) "=" (cdr pair))) ,environment)))
     ,@body))

(defun reel-test-patch (first last lines &rest more)
  "Apply a patch: the rows from FIRST up to LAST become LINES.
MORE are other properties of the patch."
  (reel-lines--patch
   (append more (list :replace (vector first last) :lines (vconcat lines) :name "demo" :more :json-false))))

(defun reel-test-headings (row &rest seqs)
  "Return the headings of messages with SEQS, three rows each, from ROW on."
  (vconcat (cl-loop for seq in seqs for at from row by 3 collect (vector at "user" seq nil))))

(defun reel-test-messages (&rest seqs)
  "Return the lines of messages with SEQS, three rows each."
  (mapcan (lambda (seq) (list (format "## user #%d" seq) "a" "")) seqs))

(defun reel-test-visible ()
  "Return the part of the buffer that is not folded."
  (cl-loop for at from 1 below (point-max)
           unless (get-text-property at 'invisible) concat (string (char-after at))))

(defmacro reel-test-in-buffer (&rest body)
  "Evaluate BODY in a buffer that shows a conversation without lines."
  (declare (indent 0))
  `(with-temp-buffer
     (reel-mode)
     (setq reel-lines-agent "0a" reel-lines-name "demo")
     ,@body))

(ert-deftest reel-test-address ()
  "The socket is $REEL_SOCKET, else in the runtime directory, else in /tmp; empty is unset."
  (reel-test-with '(("REEL_SOCKET" . "/a/s.sock") ("XDG_RUNTIME_DIR" . "/run/x"))
    (should (equal "/a/s.sock" (reel-link-address))))
  (reel-test-with '(("REEL_SOCKET" . "") ("XDG_RUNTIME_DIR" . "/run/x"))
    (should (equal "/run/x/reel/reel.sock" (reel-link-address))))
  (reel-test-with '(("XDG_RUNTIME_DIR" . ""))
    (should (equal (format "/tmp/reel-%d/reel.sock" (user-uid)) (reel-link-address)))))

(ert-deftest reel-test-fallback-directory ()
  "In /tmp, a link to a directory is refused."
  (let* ((directory (make-temp-file "reel-" t))
         (uid 47110815)
         (link (format "/tmp/reel-%d" uid)))
    (unwind-protect
        (progn
          (with-temp-file (concat directory "/reel.sock"))
          (make-symbolic-link directory link)
          (cl-letf (((symbol-function 'user-uid) (lambda () uid)))
            (should (equal (concat link " is not your own directory")
                           (reel-link--foreign (concat link "/reel.sock"))))
            (should-not (reel-link--foreign (concat link "/nothing.sock")))))
      (delete-file link)
      (delete-directory directory t))))

(ert-deftest reel-test-queue ()
  "Deferred calls run in order, also if one defers another or fails."
  (let (done)
    (reel-link-defer (lambda () (push 1 done) (reel-link-defer (lambda () (push 4 done)))))
    (reel-link-defer (lambda () (error "Broken on purpose")))
    (reel-link-defer (lambda () (push 2 done)))
    (reel-link-defer (lambda () (push 3 done)))
    (should-not done)
    (let (debug-on-error) ; or what is broken would open the debugger
      (while (< (length done) 4)
        (accept-process-output nil 0.01)))
    (should (equal '(1 2 3 4) (reverse done)))
    (should-not reel-link--timer)))

(ert-deftest reel-test-queue-while-sending ()
  "The queue waits while a request is being written."
  (let (done)
    (let ((reel-link--sending t))
      (reel-link-defer (lambda () (setq done t)))
      (accept-process-output nil 0.05)
      (should-not done))
    (while (not done)
      (accept-process-output nil 0.01))))

(ert-deftest reel-test-keys ()
  "No two commands have the same key."
  (should-not (equal (reel-link--key) (reel-link--key))))

(ert-deftest reel-test-last-line ()
  "The last line of the command's output is used."
  (should (equal "no room: at all" (reel-link--last-line "a\nreel: not_running: no room: at all\n" 1)))
  (should (equal "reel start ended with status 3" (reel-link--last-line "" 3))))

(ert-deftest reel-test-words ()
  "The text of an error for a user is its message without its name."
  (should (equal "no agent zed" (reel-link-words '(:message "not_found: no agent zed" :data (:name "not_found")))))
  (should (equal "odd" (reel-link-words '(:message "odd")))))

(ert-deftest reel-test-plain ()
  "Invalid characters are replaced and counted; everything else stays."
  (should (equal '("a\0ä€😀\U0010ffff\n" . 0) (reel-text-plain "a\0ä€😀\U0010ffff\n")))
  (should (equal '("a\ufffdb\ufffd\ufffdc\ufffd" . 4)
                 (reel-text-plain (concat "a" (string #xd800) "b" (string #x3fff80 #x3fffff) "c" (string #x110000)))))
  (should (equal '("\ufffd\ufffd" . 2) (reel-text-plain (unibyte-string 195 164)))))

(ert-deftest reel-test-list-row ()
  "The daemon counts a thousand messages for a list; there may be more."
  (dolist (case '((999 . "999") (1000 . "1000+")))
    (should (equal (cdr case)
                   (aref (cadr (reel-list--row (list :id "0a" :name "demo" :updated 0 :messages (car case)))) 2)))))

(ert-deftest reel-test-patches ()
  "After any patches, the buffer has the lines, the folds and the headings that they say."
  (dotimes (seed 20)
    (random (format "patches %d" seed))
    (reel-test-in-buffer
      (let (model) ; a list of each line and what is at it
        (dotimes (_ 60)
          (let* ((first (random (1+ (length model))))
                 (last (+ first (random (1+ (- (length model) first)))))
                 (rows (cl-loop repeat (random 6) collect
                                (cons (format "line %d" (random 3)) (nth (random 4) '(nil nil heading fold)))))
                 (at (lambda (kind) (cl-loop for row from first for (_ . its) in rows
                                             when (eq its kind) collect row))))
            (setq model (append (seq-take model first) rows (seq-drop model last)))
            (goto-char (1+ (random (buffer-size))))
            (reel-test-patch first last (mapcar #'car rows)
                             :headings (vconcat (mapcar (lambda (row) (vector row "user" 7 nil))
                                                        (funcall at 'heading)))
                             :folds (vconcat (mapcar (lambda (row) (vector row row)) (funcall at 'fold))))))
        (should (equal (mapconcat (lambda (row) (concat (car row) "\n")) model "") (buffer-string)))
        (should (equal (length model) reel-lines--rows))
        (goto-char 1)
        (dolist (row model)
          (should (eq (get-text-property (point) 'face)
                      (pcase (cdr row) ('heading 'reel-heading) ('fold 'reel-label))))
          (should (equal (get-text-property (point) 'reel-heading)
                         (and (eq (cdr row) 'heading) '("user" . 7))))
          (forward-line))))))

(ert-deftest reel-test-another-subscription ()
  "What was there stays until everything has been read again; point keeps its row."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("one" "two" "three"))
    (goto-char 5)
    (reel-lines-lost "it is away")
    (should (equal "one\ntwo\nthree\n*it is away*\n" (buffer-string)))
    (let ((reel-link--features '("facts")))
      (cl-letf (((symbol-function 'reel-link-ask) #'ignore))
        (reel-lines-follow)))
    (should (equal "one\ntwo\nthree\n" (buffer-string)))
    (reel-test-patch 0 0 '("1" "2") :more t)
    (should (looking-at "two\n"))
    (should (eq 'left-to-right bidi-paragraph-direction))
    (reel-test-patch 2 2 '("3" "4"))
    (should-not bidi-paragraph-direction) ; a paragraph has its own
    (should (equal "1\n2\n3\n4\n" (buffer-string)))
    (should (looking-at "2\n"))))

(ert-deftest reel-test-another-subscription-with-fewer-rows ()
  "If the row of point is not there any more, point is at the end, and the next patch in its place."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("one" "two" "three" "four" "five" "six"))
    (goto-char 1)
    (forward-line 4)
    (let ((reel-link--features '("facts")))
      (cl-letf (((symbol-function 'reel-link-ask) #'ignore))
        (reel-lines-follow)))
    (reel-test-patch 0 0 '("1" "2"))
    (should (eobp))
    (reel-test-patch 2 2 '("3"))
    (should (equal "1\n2\n3\n" (buffer-string)))))

(ert-deftest reel-test-another-subscription-and-folds ()
  "A fold that was opened is open again, if it is still in its row."
  (reel-test-in-buffer
    (let ((lines '("### a" "one" "" "### b" "two" "" "### c" "three" "")))
      (reel-test-patch 0 0 lines :folds [[0 1] [3 4] [6 7]])
      (goto-char 1)
      (reel-toggle)
      (forward-line 3)
      (reel-toggle)
      (let ((reel-link--features '("facts")))
        (cl-letf (((symbol-function 'reel-link-ask) #'ignore))
          (reel-lines-follow)))
      (setf (nth 3 lines) "### other")
      (reel-test-patch 0 0 lines :folds [[0 1] [3 4] [6 7]])
      (should (equal "### a\none\n\n### other\n\n### c\n\n" (reel-test-visible))))))

(ert-deftest reel-test-another-subscription-that-is-lost ()
  "If the connection is lost while everything is read again, what was there is still there."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("one" "two" "three"))
    (let ((reel-link--features '("facts")))
      (cl-letf (((symbol-function 'reel-link-ask) #'ignore))
        (reel-lines-follow)
        (reel-test-patch 0 0 '("one") :more t)
        (reel-lines-lost "it is away")
        (should (equal "one\ntwo\nthree\n*it is away*\n" (buffer-string)))
        (reel-lines-follow)
        (reel-test-patch 0 0 '("1"))
        (should (equal "1\n" (buffer-string)))))))

(ert-deftest reel-test-older-daemon ()
  "If the daemon cannot show lines, the buffer says what to do, and nothing is asked."
  (reel-test-in-buffer
    (let ((reel-link--features '("drafts")) (inhibit-message t))
      (cl-letf (((symbol-function 'reel-link-ask) #'error))
        (reel-lines-follow)))
    (should (equal "*this reeld cannot show lines; restart the daemon: reel stop; reel start*\n" (buffer-string)))))

(ert-deftest reel-test-garbage ()
  "While many patches come, garbage is collected less often; afterwards as before."
  (let ((gc-cons-threshold 800000) reel-lines--gc-timer reel-lines--gc-threshold)
    (reel-test-in-buffer
      (reel-test-patch 0 0 '("one") :more t)
      (reel-test-patch 1 1 '("two") :more t))
    (should (< 800000 gc-cons-threshold))
    (timer-event-handler reel-lines--gc-timer)
    (should (= 800000 gc-cons-threshold))))

(ert-deftest reel-test-point ()
  "Point stays at the end, in a row that is replaced, and at a text that moves."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("a" "b" "c" ""))
    (should (eobp))
    (reel-test-patch 4 4 '("d" "e" ""))
    (should (eobp))
    (goto-char 3)
    (reel-test-patch 0 0 '("prompt" ""))
    (should (looking-at "b\nc"))
    (reel-test-patch 2 5 '("A" "B" "C"))
    (should (looking-at "B\nC"))
    (reel-test-patch 2 5 '("A" "Bee"))
    (should (looking-at "Bee\n\nd"))
    (reel-test-patch 3 4 nil)
    (should (looking-at "\nd"))
    (goto-char 1)
    (reel-test-patch 0 0 '("above"))
    (should (looking-at "prompt"))
    (forward-line 5)
    (should (looking-at "e\n\n"))
    (reel-test-patch 3 7 '("x" "y"))
    (should (= 4 (1- (line-number-at-pos))))))

(ert-deftest reel-test-fold-in-two-patches ()
  "A fold that begins in an earlier patch is closed when its last line comes."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("### thinking" "one"))
    (reel-test-patch 2 2 '("two" "") :folds [[0 2]])
    (should (equal "### thinking\n\n" (reel-test-visible)))))

(ert-deftest reel-test-mark ()
  "A mark is shown at the end of its line, and is no part of the text."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("long" "") :marks [[0 "… 9 more characters"]])
    (should (equal "long\n\n" (buffer-string)))
    (should (equal " … 9 more characters\n" (get-text-property 5 'display)))
    (reel-test-patch 0 1 '("long"))
    (should-not (get-text-property 5 'display))))

(ert-deftest reel-test-time ()
  "The time of a message is behind its heading."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("## user #1" "") :headings [[0 "user" 1 0]])
    (should (equal (format "## user #1 · %s\n\n" (reel-text-time 0)) (buffer-string)))))

(ert-deftest reel-test-writers ()
  "Who is writing is what the headings of drafts say."
  (reel-test-in-buffer
    (reel-test-patch 0 0 (reel-test-messages 1) :headings (reel-test-headings 0 1))
    (should-not (reel-lines-writers))
    (reel-test-patch 3 3 '("## assistant · writing… (vim)" "a" "## assistant · writing…" "b")
                     :headings [[3 "draft" nil nil] [5 "draft" nil nil]])
    (should (equal '("writing… (vim)" "writing…") (reel-lines-writers)))))

(ert-deftest reel-test-place ()
  "The place of a message is found by its seq; else that of the message before."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("## system" "be brief" "") :headings [[0 "system" nil nil]])
    (reel-test-patch 3 3 (append (reel-test-messages 3 5) '("## assistant · writing…" ""))
                     :headings (vconcat (reel-test-headings 3 3 5) [[9 "draft" nil nil]]))
    (let ((row (lambda (position) (1- (line-number-at-pos position)))))
      (dolist (case '((3 3 6 3) (4 3 6 3) (5 6 9 5) (9 6 9 5) (nil 0 3 nil) (2 0 3 nil)))
        (pcase-let ((`(,begin ,end ,seq) (reel-lines-place (car case))))
          (should (equal (cdr case) (list (funcall row begin) (funcall row end) seq))))))))

(ert-deftest reel-test-when-there ()
  "What waits for a message is called when all of it is there, or when everything has been read."
  (dolist (case '((2 . 1) (3 . 2) (9 . 3)))
    (reel-test-in-buffer
      (let ((patches 0) called)
        (setq reel-lines-state "reading")
        (reel-lines-when-there (car case) (lambda () (setq called patches)))
        (setq patches 1)
        (reel-test-patch 0 0 (reel-test-messages 1 2 3) :headings (reel-test-headings 0 1 2 3) :more t)
        (setq patches 2)
        (reel-test-patch 9 9 '("more of 3") :more t)
        (setq patches 3)
        (reel-test-patch 10 10 nil)
        (should (equal (cdr case) called))))))

(ert-deftest reel-test-toggle ()
  "The fold on the line is opened and closed; without one, an error says so."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("## user #1" "" "### thinking" "hm" "" "### thinking" "well" "")
                     :headings (reel-test-headings 0 1) :folds [[2 3] [5 6]])
    (goto-char 1)
    (should-error (reel-toggle) :type 'user-error)
    (search-forward "### thinking")
    (reel-toggle)
    (should (equal "## user #1\n\n### thinking\nhm\n\n### thinking\n\n" (reel-test-visible)))
    (search-forward "hm")
    (backward-char)
    (reel-toggle)
    (should-not (string-match-p "hm" (reel-test-visible)))))

(ert-deftest reel-test-next ()
  "n and p go from message to message, with an error at the ends."
  (reel-test-in-buffer
    (reel-test-patch 0 0 (reel-test-messages 1 2 3) :headings (reel-test-headings 0 1 2 3))
    (goto-char 1)
    (reel-next)
    (should (looking-at "## user #2"))
    (reel-next)
    (should-error (reel-next) :type 'user-error)
    (should (looking-at "## user #3"))
    (forward-line 2)
    (reel-previous)
    (should (looking-at "## user #3"))
    (reel-previous)
    (reel-previous)
    (should (looking-at "## user #1"))
    (should-error (reel-previous) :type 'user-error)))

(ert-deftest reel-test-code-faces ()
  "Code has the faces of its language, whatever part of it is shown first; a fold ends a code block."
  (reel-test-in-buffer
    (reel-test-patch 0 0 '("## user #1" "" "```python" "x = 1" "import os" "```" "`b` **c**" "```" "open" "### thinking" "*" "" "**after**")
                     :headings (reel-test-headings 0 1) :folds [[9 10]])
    (let ((face (lambda (text) (goto-char 1) (search-forward text) (get-text-property (match-beginning 0) 'face))))
      (goto-char 1)
      (search-forward "import")
      (cl-letf (((symbol-function 'run-with-idle-timer) (lambda (_seconds _repeat &rest call) (apply #'funcall call))))
        (reel-markdown-fontify (match-beginning 0) (match-end 0)))
      (should (equal 'font-lock-keyword-face (funcall face "import")))
      (reel-markdown-fontify 1 (point-max))
      (should (equal '(reel-heading font-lock-constant-face bold nil reel-label bold)
                     (mapcar face '("## user" "`b`" "**c" "open" "### thinking" "**after")))))))

(ert-deftest reel-test-a-fence-as-long-as-a-line ()
  "A line of nothing but backticks or tildes breaks nothing."
  (dolist (character '(?` ?~))
    (reel-test-in-buffer
      (reel-test-patch 0 0 (list (make-string 65536 character) "**bold**" (make-string 65536 character)))
      (reel-markdown-fontify 1 1500)
      (reel-markdown-fontify 65530 (point-max)))))

(provide 'reel-test)
;;; reel-test.el ends here
