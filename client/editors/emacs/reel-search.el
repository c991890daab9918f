;;; reel-search.el --- Search all conversations  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A buffer with the hits of a search, below the names of their conversations.
;; A hit that is not in its conversation any more is shown in the conversation
;; as it was.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'reel-lines)
(require 'reel-link)
(require 'reel-text)

(declare-function reel--ignore-local-variables "reel")
(declare-function reel--show "reel")
(declare-function reel-next "reel")
(declare-function reel-previous "reel")
(declare-function reel-toggle "reel")

(defconst reel-search--page 50
  "How many hits are read at a time.")

(defconst reel-search--wait 500
  "How many milliseconds a search waits for what was just said.")

(defconst reel-search--partial
  (concat "very many messages have these words, and only the newest were ranked;"
          " a rarer word or a filter finds older ones")
  "What is said if not all messages with the words were ranked.")

(defconst reel-search--more "m shows more hits"
  "The line below the hits if there are more.")

(defconst reel-search--faces
  '(("name" . reel-heading) ("match" . match) ("note" . reel-label)
    ("system" . bold) ("user" . bold) ("assistant" . bold) ("tool" . bold))
  "The face of each kind of text in a list of hits.")

(defvar reel-search-history nil
  "What was searched for.")

(defvar-local reel-search--query nil
  "What the current buffer shows the hits of.")

(defvar-local reel-search--after nil
  "What the next page of hits comes after, or nil if there are no more.")

(defvar-local reel-search--above nil
  "The id of the conversation of the last hit, or nil.")

(defvar reel-search-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'reel-search-open)
    (define-key map "m" #'reel-search-more)
    (define-key map "n" #'reel-next)
    (define-key map "p" #'reel-previous)
    (define-key map "/" #'reel-search)
    map)
  "Keymap of `reel-search-mode'.")

(define-derived-mode reel-search-mode special-mode "reel search"
  "Major mode for the hits of a search; RET goes to the message.

\\{reel-search-mode-map}"
  (reel--ignore-local-variables)
  (buffer-disable-undo)
  (visual-line-mode)
  (setq-local wrap-prefix "    ")
  (setq-local revert-buffer-function (lambda (&rest _) (reel-search reel-search--query))))

;;;###autoload
(defun reel-search (query)
  "Search everything that was said in all conversations for QUERY."
  (interactive (list (read-string "Search: " nil 'reel-search-history)))
  (unless (string-blank-p query)
    (let ((page (reel-search--read query)))
      (if (reel-search--empty-p page)
          (message "no matches for %s" query)
        (with-current-buffer (get-buffer-create "*reel search*")
          (reel-search-mode)
          (setq reel-search--query query)
          (let ((inhibit-read-only t))
            (erase-buffer))
          (reel-search--put page)
          (goto-char (point-min))
          (forward-line)
          (pop-to-buffer (current-buffer)))
        (when-let* ((notices (reel-search--notices page)))
          (message "%s" (string-join notices "\n")))))))

(defun reel-search--notices (page)
  "Return what is to be said about PAGE, as a list of lines."
  (append
   (cl-loop for (word others) on (plist-get page :instead) by #'cddr
            collect (format "nothing has %s; showing results for %s"
                            (substring (symbol-name word) 1)
                            (string-join (append others nil) " and ")))
   (when (eq (plist-get page :partial) t)
     (list reel-search--partial))
   (when (> (plist-get page :behind) 0)
     (list (format "the index is behind: %s cannot be found yet; repeat the search later"
                   (reel-text-count (plist-get page :behind) "event"))))))

(defun reel-search--read (query &optional after above)
  "Return the page of hits of QUERY that comes after AFTER.
The last hit before it is of the conversation ABOVE.  A page without hits is not
the end: the daemon ends a search after a second."
  (reel-link-greet)
  (let* ((ranked (and (reel-link-knows-p "patterns") `(:order "fresh" :wait ,reel-search--wait)))
         (read (lambda (after)
                 (apply #'reel-link-call 'hits :query query :limit reel-search--page
                        :after after :above above ranked)))
         (page (funcall read after)))
    (while (and (reel-search--empty-p page) (eq (plist-get page :more) t))
      (setq page (funcall read (plist-get page :next))))
    page))

(defun reel-search--empty-p (page)
  "Return whether PAGE has no hits."
  (= 0 (length (plist-get page :hits))))

(defun reel-search--put (page)
  "Put the lines of PAGE at the end of the current buffer."
  (setq reel-search--after (and (eq (plist-get page :more) t) (plist-get page :next)))
  (save-excursion
    (goto-char (point-max))
    (let ((inhibit-read-only t)
          (hits (plist-get page :hits)))
      (mapc (lambda (line)
              (let ((hit (plist-get line :hit)))
                (insert (reel-search--line line (and hit (elt hits hit))))))
            (plist-get page :lines))
      (unless (reel-search--empty-p page)
        (setq reel-search--above (plist-get (elt hits (1- (length hits))) :agent)))
      (when reel-search--after
        (insert "\n" (propertize (concat reel-search--more "\n") 'face 'reel-label))))
    (set-buffer-modified-p nil)))

(defun reel-search--line (line hit)
  "Return LINE, which is about HIT, in its colours."
  (let* ((span (lambda (span)
                 (propertize (elt span 0) 'face (cdr (assoc (elt span 1) reel-search--faces)))))
         (text (concat (mapconcat span (plist-get line :spans) "") "\n")))
    ;; Not the line with the name, so that `reel-next' goes from hit to hit.
    (if (string-prefix-p "  " text) (propertize text 'reel-heading hit) text)))

;;;; Commands in the list

(defun reel-search-more ()
  "Show more hits, if there are any."
  (interactive)
  (when reel-search--after
    (let ((page (reel-search--read reel-search--query reel-search--after reel-search--above))
          (inhibit-read-only t))
      (save-excursion
        (goto-char (point-max))
        (forward-line -2)
        (delete-region (point) (point-max)))
      (reel-search--put page))))

(defun reel-search-open ()
  "Show the conversation of the hit at point, and go to the message."
  (interactive)
  (if-let* ((hit (get-text-property (line-beginning-position) 'reel-heading)))
      (reel-search--visit hit)
    (if (and reel-search--after (eobp))
        (reel-search-more)
      (user-error "No hit on this line"))))

(defun reel-search--visit (hit)
  "Show the conversation of HIT, and go to the message.
What is not in the conversation any more is shown in the conversation as it
was."
  (let* ((info (reel-link-call 'agent :agent (plist-get hit :agent)))
         (name (plist-get info :name))
         (note (equal (plist-get hit :kind) "note")))
    (reel--show info (unless (reel-search--current-p hit info) (plist-get hit :seq)))
    (when (or note (plist-get hit :role))
      (reel-lines-when-there (reel-search--seq hit) (lambda () (reel-search--arrive hit))))
    (when note
      (message "%s: #%d is a note; reel log %s shows it" name (plist-get hit :seq) name))))

(defun reel-search--current-p (hit info)
  "Return whether HIT is in its conversation now, which INFO is about.
A prompt that was replaced is not."
  (and (eq (plist-get hit :live) t)
       (or (not (equal (plist-get hit :role) "system"))
           (string-match-p (regexp-quote (plist-get hit :snippet)) (or (plist-get info :system) "")))))

(defun reel-search--seq (hit)
  "Return the seq of HIT's message, or nil if HIT is the prompt."
  (unless (equal (plist-get hit :role) "system")
    (plist-get hit :seq)))

(defun reel-search--arrive (hit)
  "Go to the first match of HIT in the current buffer, and open its fold."
  (pcase-let* ((wanted (reel-search--seq hit))
               (`(,begin ,end ,seq) (reel-lines-place wanted)))
    (unless (or (equal (plist-get hit :kind) "note") (eql seq wanted))
      (message "%s: #%d is not in the conversation any more; search again to see it"
               reel-lines-name wanted))
    (let ((position (or (reel-search--find (reel-search--contexts hit) begin end) begin)))
      (goto-char position)
      (when (invisible-p position)
        (reel-toggle)
        (goto-char position))
      (dolist (window (get-buffer-window-list nil nil t))
        (with-selected-window window
          (goto-char position)
          (recenter (and (= position begin) 0)))))))

(defun reel-search--find (contexts begin end)
  "Return where the first match of CONTEXTS between BEGIN and END is, or nil."
  (let ((case-fold-search nil))
    (cl-loop for (text . offset) in contexts
             thereis (save-excursion
                       (goto-char begin)
                       (when (search-forward text end t)
                         (+ (match-beginning 0) offset))))))

(defun reel-search--contexts (hit)
  "Return what to look for in the message of HIT.
That is a list of pairs: the line around the first match, and the match alone,
each with the offset of the match in it."
  (when-let* ((context (append (plist-get hit :context) nil)))
    (list (cons (string-join context) (length (car context)))
          (cons (cadr context) 0))))

(provide 'reel-search)
;;; reel-search.el ends here
