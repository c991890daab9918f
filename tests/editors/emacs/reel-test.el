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

(defun reel-test-message (seq &rest blocks)
  "Return a message of the user with SEQ and BLOCKS."
  (list :role "user" :seq seq :time 0 :content (vconcat blocks)))

(defun reel-test-text (message &optional tools)
  "Return the text of MESSAGE; TOOLS has the names of tools by the ids of calls."
  (reel-text-message message (or tools (make-hash-table :test #'equal))))

(defun reel-test-block (block)
  "Return the text of BLOCK."
  (reel-text--block block (make-hash-table :test #'equal)))

(defun reel-test-visible (text)
  "Return the part of TEXT that is not folded."
  (with-temp-buffer
    (insert text)
    (cl-loop for at from 1 below (point-max)
             unless (get-text-property at 'invisible) concat (string (char-after at)))))

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

(ert-deftest reel-test-texts ()
  "A text is unchanged, with a newline at its end."
  (let ((head (concat "## user #7 · " (reel-text-time 0) "\n\n")))
    (should (equal (concat head "# a\n\n```\n  b\n\n")
                   (substring-no-properties
                    (reel-test-text (reel-test-message 7 '(:type "text" :text "# a\n\n```\n  b"))))))
    (should (equal (concat head "a\n\n")
                   (substring-no-properties
                    (reel-test-text (reel-test-message 7 '(:type "text" :text "a\n"))))))))

(ert-deftest reel-test-prompt ()
  "The prompt may have text, be empty, or be missing."
  (should (equal "" (reel-text-prompt nil)))
  (should (equal "## system\n\nbe brief\n\n" (substring-no-properties (reel-text-prompt "be brief")))))

(ert-deftest reel-test-folded ()
  "Thinking, calls and results are folded under a line that names them."
  (dolist (case '(((:type "thinking" :text "hm\nwell\n") "### thinking" "\nhm\nwell")
                  ((:type "tool_call" :id "c1" :name "ls" :arguments "{}") "### call ls c1" "\n```json\n{}\n```")
                  ((:type "tool_result" :tool_call_id "c1" :content "a" :is_error :json-false)
                   "### result c1" "\n```\na\n```")
                  ((:type "tool_result" :tool_call_id "c1" :content "a" :is_error t) "### error c1" "\n```\na\n```")
                  ((:type "tool_result" :tool_call_id "c1" :content [(:type "text" :text "a") (:type "text" :text "```")])
                   "### result c1" "\n````\na\n```\n````")
                  ((:type "opaque" :provider "p" :data_json "[1]") "### opaque block of p" "\n```json\n[1]\n```")))
    (pcase-let ((`(,block ,label ,hidden) case))
      (should (equal (concat label hidden "\n") (substring-no-properties (reel-test-block block))))
      (should (equal (concat label "\n") (reel-test-visible (reel-test-block block)))))))

(ert-deftest reel-test-result-names-its-tool ()
  "A result has the name of the tool that was called in an earlier message."
  (let ((tools (make-hash-table :test #'equal)))
    (reel-test-text (reel-test-message 1 '(:type "tool_call" :id "c1" :name "ls" :arguments "{}")) tools)
    (should (string-match-p "^### result of ls c1$"
                            (reel-test-text (reel-test-message 2 '(:type "tool_result" :tool_call_id "c1" :content "a"))
                                            tools)))))

(ert-deftest reel-test-names-stay-in-their-line ()
  "A line break in the name of a client or a tool does not begin another line."
  (should (equal "## assistant · writing… (a ## user #9)\n\nx\n\n"
                 (substring-no-properties (reel-text-draft "a\n## user #9" "x"))))
  (should (equal "### call n ## user #9 i\n"
                 (reel-test-visible
                  (reel-test-block '(:type "tool_call" :id "i" :name "n\r\n## user #9" :arguments "{}"))))))

(ert-deftest reel-test-draft-without-a-name ()
  "The heading of a draft has no name if the client has none."
  (should (equal "## assistant · writing…\n\nx\n\n" (substring-no-properties (reel-text-draft nil "x")))))

(ert-deftest reel-test-notes ()
  "A block that cannot be shown is named."
  (dolist (case '(((:type "redacted_thinking" :data "abc") . "### thinking, redacted (3 characters)\n")
                  ((:type "media" :mime_type "image/png" :data_base64 "AAA=") . "### media image/png 2 bytes\n")
                  ((:type "media" :mime_type "image/png" :url "http://x" :name "n") . "### media image/png n http://x\n")
                  ((:type "hologram") . "### block of type hologram (a newer plug-in can show it)\n")))
    (should (equal (cdr case) (substring-no-properties (reel-test-block (car case)))))))

(ert-deftest reel-test-info ()
  "Each fact about an agent has a line; a missing one has none."
  (let ((info '(:id "0a" :name "demo" :title nil :tags (:a "b" :c "d") :alive t :head 9 :messages 1 :created 0
                    :updated 0 :system nil :attached 2 :open_calls [(:id "c1" :name "ls" :seq 8)]
                    :marks [(:label "x" :seq 3) (:label nil :seq 4) (:label "y" :seq 5) (:label "x" :seq 6)]
                    :source (:agent "0b" :at 2))))
    (should (equal (list "name         demo" "id           0a" "messages     1" "head         #9"
                         "marks        x #3, #4, y #5, x #6" "waiting for  ls c1" "tags         a=b, c=d"
                         "cloned from  0b at #2" (concat "created      " (reel-text-time 0))
                         (concat "updated      " (reel-text-time 0)) "followers    2")
                   (split-string (reel-text-info info) "\n" t)))))

(ert-deftest reel-test-copy ()
  "Entries are removed and added between the prompt and the drafts."
  (with-temp-buffer
    (let ((text (lambda (seq) (reel-test-text (reel-test-message seq '(:type "text" :text "a"))))))
      (reel-copy--draft (list :connection 5 :client "vim" :text "soon"))
      (reel-copy--append (list (reel-test-message 1 '(:type "text" :text "a"))
                               (reel-test-message 2 '(:type "text" :text "a"))))
      (reel-copy--prompt "be brief")
      (reel-copy--append (list (reel-test-message 3 '(:type "text" :text "a"))))
      (reel-copy--keep 9)
      (reel-copy--draft (list :connection 6 :client "vim" :text "late"))
      (should (equal-including-properties
               (concat (reel-text-prompt "be brief") (funcall text 1) (funcall text 2) (funcall text 3)
                       (reel-text-draft "vim" "soon") (reel-text-draft "vim" "late"))
               (buffer-string)))
      (reel-copy--keep 1)
      (reel-copy--prompt nil)
      (reel-copy--draft (list :connection 5 :client "vim" :text ""))
      (reel-copy--draft (list :connection 6 :client "vim" :text "later"))
      (reel-copy--supersede (reel-test-message 4 '(:type "text" :text "a")))
      (should (equal-including-properties
               (concat (funcall text 1) (funcall text 4) (reel-text-draft "vim" "later"))
               (buffer-string)))
      (should (equal '(4 1) (mapcar #'car reel-copy--entries))))))

(ert-deftest reel-test-copy-point ()
  "Point at the end stays at the end; elsewhere it stays where it is."
  (with-temp-buffer
    (reel-copy--append (list (reel-test-message 1 '(:type "text" :text "a"))))
    (should (eobp))
    (goto-char 4)
    (reel-copy--append (list (reel-test-message 2 '(:type "text" :text "a"))))
    (should (= 4 (point)))))

(ert-deftest reel-test-toggle ()
  "The fold on the line is opened and closed; without one, an error says so."
  (with-temp-buffer
    (reel-mode)
    (reel-copy--append (list (reel-test-message 1 '(:type "thinking" :text "hm") '(:type "thinking" :text "well"))))
    (goto-char 1)
    (should-error (reel-toggle) :type 'user-error)
    (search-forward "### thinking")
    (reel-toggle)
    (should (equal "### thinking\nhm\n\n### thinking\n\n"
                   (substring (reel-test-visible (buffer-string)) (length (reel-text--heading (concat "user #1 · " (reel-text-time 0)))))))
    (search-forward "hm")
    (backward-char)
    (reel-toggle)
    (should-not (string-match-p "hm" (reel-test-visible (buffer-string))))))

(ert-deftest reel-test-next ()
  "n and p go from message to message, with an error at the ends."
  (with-temp-buffer
    (reel-mode)
    (reel-copy--append (mapcar (lambda (seq) (reel-test-message seq '(:type "text" :text "## a\nb"))) '(1 2 3)))
    (goto-char 1)
    (reel-next)
    (should (looking-at "## user #2"))
    (reel-next)
    (should-error (reel-next) :type 'user-error)
    (should (looking-at "## user #3"))
    (forward-line 3)
    (reel-previous)
    (should (looking-at "## user #3"))
    (reel-previous)
    (reel-previous)
    (should (looking-at "## user #1"))
    (should-error (reel-previous) :type 'user-error)))

(provide 'reel-test)
;;; reel-test.el ends here
