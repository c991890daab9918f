;;; reel-copy.el --- A buffer that follows a conversation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A buffer is a copy of one agent's messages: the prompt, then the entries,
;; then the drafts of other clients.  Of an entry, only its seq and its offset
;; are stored; its text is in the buffer and nowhere else.
;;
;; Theory of operation: `reel-copy-follow' subscribes.  The first time it then
;; reads everything; later it continues after the last event that it has.  Each
;; event says how many leading entries are unchanged (`keep') and how many
;; there are now (`count').  The copy is truncated to the first number; if
;; entries are then missing, they are read, and pushes wait meanwhile.  A reply
;; to a request of an earlier turn (before the connection was lost, say) is
;; ignored.

;;; Code:

(require 'cl-lib)
(require 'reel-link)
(require 'reel-text)

(defconst reel-copy--prompting '("system" "clear" "rewind" "restore" "clone")
  "The kinds of events that may change the prompt.")

(defconst reel-copy--grace 1
  "For how many seconds a draft that has ended is still shown.
Its message comes a moment later: who reads it must not lose the place.")

(defvar-local reel-copy-agent nil
  "The id of the agent that this buffer shows.")

(defvar-local reel-copy-name nil
  "The name of the agent that this buffer shows.")

(defvar-local reel-copy-state nil
  "Why the copy is not current, as a word: `reading', `away'; nil if it is.")

(defvar-local reel-copy-past nil
  "The seq of an event if this buffer shows the conversation as it was then.
It is only read then, and not followed.")

(defvar-local reel-copy--then nil
  "Function to call once when everything has been read, or nil.")

(defvar-local reel-copy--turn 0
  "How often this buffer has started to follow.")

(defvar-local reel-copy--subscription nil
  "The number of the subscription, or nil.")

(defvar-local reel-copy--seq nil
  "The seq of the last event that the copy has, or nil before the first reading.")

(defvar-local reel-copy--pushes nil
  "Pushes that wait until the copy is complete, oldest first.")

(defvar-local reel-copy--waiting nil
  "Non-nil while a reply is awaited.")

(defvar-local reel-copy--system nil
  "The prompt.")

(defvar-local reel-copy--above 0
  "The length of the prompt, in characters.")

(defvar-local reel-copy--entries nil
  "A pair of seq and offset for each entry, newest first.")

(defvar-local reel-copy--length 0
  "The length of all entries, in characters.")

(defvar-local reel-copy--drafts nil
  "Pairs of a connection and the push of its draft, oldest first.")

(defvar-local reel-copy--ended nil
  "The connections whose drafts have ended, but are still shown.")

(defvar-local reel-copy--tools nil
  "The name of each tool by the id of its call, or nil before the first message.")

;;;; Following

(defun reel-copy-start (agent name &optional past)
  "Make the current buffer a copy of AGENT, whose name is NAME.
With PAST, the seq of an event, show the conversation as it was then."
  (setq reel-copy-agent agent
        reel-copy-name name
        reel-copy-past past)
  (add-hook 'kill-buffer-hook #'reel-copy--leave nil t)
  (reel-copy-follow))

(defun reel-copy-refresh ()
  "Read everything again."
  (reel-copy--leave)
  (unless reel-copy-past
    (setq reel-copy--seq nil))
  (reel-copy-follow))

(defun reel-copy-when-complete (function)
  "Call FUNCTION in the current buffer, once everything has been read."
  (setq reel-copy--then function)
  (reel-copy--work))

(defun reel-copy-follow ()
  "Subscribe, and continue after the last event that the copy has."
  (cl-incf reel-copy--turn)
  (setq reel-copy-state "reading"
        reel-copy--subscription nil
        reel-copy--pushes nil)
  (reel-copy--draft-all nil)
  (cond ((not reel-copy-past)
         (reel-copy--ask 'subscribe (list :agent reel-copy-agent :since reel-copy--seq)
                         #'reel-copy--subscribed))
        (reel-copy--seq (reel-copy--work))
        (t (reel-copy--fill reel-copy-past))))

(defun reel-copy-lost ()
  "Show that the connection was lost."
  (cl-incf reel-copy--turn)
  (setq reel-copy-state "away"
        reel-copy--subscription nil
        reel-copy--pushes nil)
  (reel-copy--draft-all nil)
  (force-mode-line-update))

(defun reel-copy-hear (method params)
  "Take the push METHOD with PARAMS if it is for the current buffer."
  (when (if (or reel-copy-past (memq method '(event lagged)))
            (and reel-copy--subscription (eql (plist-get params :sub) reel-copy--subscription))
          (equal (plist-get params :agent) reel-copy-agent))
    (setq reel-copy--pushes (nconc reel-copy--pushes (list (cons method params))))
    (reel-copy--work)))

(defun reel-copy--leave ()
  "End the subscription."
  (when reel-copy--subscription
    (reel-copy--unsubscribe (reel-link-number) reel-copy--subscription)))

(defun reel-copy--unsubscribe (link subscription)
  "End SUBSCRIPTION, unless it ended with its connection, whose number is LINK."
  (when (and (reel-link-up-p) (= link (reel-link-number)))
    (reel-link-ask 'unsubscribe (list :sub subscription) #'ignore)))

(defun reel-copy--ask (method params function)
  "Call METHOD with PARAMS; FUNCTION is called in this buffer with the result."
  (setq reel-copy--waiting t)
  (reel-link-ask method params
                 (apply-partially #'reel-copy--answered
                                  (current-buffer) (reel-link-number) reel-copy--turn function)))

(defun reel-copy--answered (buffer link turn function error result)
  "In BUFFER, call FUNCTION with RESULT, or show ERROR.
If TURN is over, the reply is ignored; if it began a subscription on the
connection with the number LINK, that is ended."
  (if (and (buffer-live-p buffer)
           (= turn (buffer-local-value 'reel-copy--turn buffer)))
      (with-current-buffer buffer
        (setq reel-copy--waiting nil)
        (if error
            (reel-copy--failed error)
          (funcall function result)
          (reel-copy--work)))
    (when-let* ((subscription (plist-get result :sub)))
      (reel-copy--unsubscribe link subscription))))

(defun reel-copy--failed (error)
  "Show ERROR, and stop following."
  (reel-copy--leave)
  (reel-copy-lost)
  (message "reel: %s: %s" reel-copy-name error))

(defun reel-copy--subscribed (reply)
  "Take REPLY, the result of subscribing."
  (setq reel-copy--subscription (plist-get reply :sub))
  (let ((head (plist-get reply :head)))
    (cond ((not reel-copy--seq)
           (reel-copy--keep 0)
           (reel-copy--fill head))
          ;; A log never becomes shorter: it was replaced by a backup.
          ((< head reel-copy--seq)
           (reel-copy-refresh)))))

(defun reel-copy--work ()
  "Take the pushes that wait, until something must be read."
  (while (and reel-copy--pushes (not reel-copy--waiting))
    (pcase-let ((`(,method . ,params) (pop reel-copy--pushes)))
      (reel-copy--take method params)))
  (unless (or reel-copy--waiting (not (or reel-copy--subscription reel-copy-past)))
    (setq reel-copy-state nil)
    (when reel-copy--then
      (funcall (prog1 reel-copy--then (setq reel-copy--then nil)))))
  (force-mode-line-update))

(defun reel-copy--take (method params)
  "Take the push METHOD with PARAMS."
  (pcase method
    ('event (reel-copy--event params))
    ('draft (reel-copy--draft params))
    ('reset
     ;; What was erased must not stay if there is nothing to read any more.
     (reel-copy--keep 0)
     (reel-copy--prompt nil)
     (reel-copy-refresh))
    ('lagged
     (setq reel-copy--seq (1- (plist-get params :from)))
     (reel-copy-follow))))

(defun reel-copy--event (event)
  "Change the copy according to EVENT."
  (let ((seq (plist-get event :seq))
        (name (plist-get event :name))
        (message (plist-get event :message)))
    (reel-copy--keep (plist-get event :keep))
    (cond ((and message reel-copy--ended) (reel-copy--supersede message))
          (message (reel-copy--append (list message))))
    (unless (equal name reel-copy-name)
      (setq reel-copy-name name)
      (rename-buffer (reel-copy-buffer-name name nil) t))
    (if (or (< (length reel-copy--entries) (plist-get event :count))
            (member (plist-get event :kind) reel-copy--prompting))
        (reel-copy--fill seq)
      (setq reel-copy--seq seq))))

(defun reel-copy-buffer-name (name past)
  "Return the name of the buffer for the agent named NAME.
PAST is the seq of an event if it shows the conversation as it was then."
  (format "*reel %s%s*" name (if past (format "#%d" past) "")))

(defun reel-copy--fill (at)
  "Read what comes after the last entry, in the state at the seq AT."
  (reel-copy--ask 'messages
                  (list :agent reel-copy-agent :since (or (caar reel-copy--entries) 0) :at at)
                  (apply-partially #'reel-copy--page at)))

(defun reel-copy--page (at reply)
  "Append the page in REPLY, of the state at the seq AT; read more if there is."
  (reel-copy--prompt (plist-get reply :system))
  (reel-copy--append (append (plist-get reply :messages) nil))
  (if (eq (plist-get reply :more) t)
      (reel-copy--fill at)
    (setq reel-copy--seq at)
    (when reel-copy-past
      (reel-copy--date))))

;;;; The text

(defmacro reel-copy--editing (&rest body)
  "Change the text with BODY; points at its end stay there."
  (declare (indent 0) (debug t))
  `(let ((inhibit-read-only t)
         (windows (cl-remove-if-not #'reel-copy--at-end (get-buffer-window-list nil nil t)))
         (at-end (eobp)))
     (save-excursion ,@body)
     (when at-end
       (goto-char (point-max)))
     (dolist (window windows)
       (set-window-point window (point-max)))
     (set-buffer-modified-p nil)))

(defun reel-copy--at-end (window)
  "Return whether point in WINDOW is at the end of the current buffer."
  (= (window-point window) (point-max)))

(defun reel-copy--begin ()
  "Return the position where the entries begin."
  (+ 1 reel-copy--above))

(defun reel-copy--end ()
  "Return the position where the entries end."
  (+ (reel-copy--begin) reel-copy--length))

(defun reel-copy--prompt (system)
  "Put the prompt SYSTEM at the top."
  (unless (equal system reel-copy--system)
    (reel-copy--editing
      (delete-region 1 (reel-copy--begin))
      (goto-char 1)
      (insert (reel-text-prompt system))
      (setq reel-copy--system system
            reel-copy--above (1- (point))))))

(defun reel-copy--keep (count)
  "Remove all entries but the first COUNT."
  (let ((surplus (- (length reel-copy--entries) count)))
    (when (> surplus 0)
      (let ((offset (cdr (nth (1- surplus) reel-copy--entries))))
        (reel-copy--editing
          (delete-region (+ (reel-copy--begin) offset) (reel-copy--end)))
        (setq reel-copy--entries (nthcdr surplus reel-copy--entries)
              reel-copy--length offset)))))

(defun reel-copy--append (messages)
  "Put MESSAGES after the entries."
  (unless reel-copy--tools
    (setq reel-copy--tools (make-hash-table :test #'equal)))
  (reel-copy--editing
    (goto-char (reel-copy--end))
    (dolist (message messages)
      (push (cons (plist-get message :seq) reel-copy--length) reel-copy--entries)
      (insert (reel-text-message message reel-copy--tools))
      (setq reel-copy--length (- (point) (reel-copy--begin))))))

(defun reel-copy--date ()
  "Put the line about the state at the end."
  (reel-copy--editing
    (goto-char (point-max))
    (insert (reel-text-past reel-copy-name reel-copy-past))))

(defun reel-copy-place (seq)
  "Return where the message with SEQ is: a list of its begin, its end and SEQ.
If there is no such message, it is that of the message before.  If SEQ is nil,
or there is no message before, it is that of the prompt, without a seq."
  (let ((end reel-copy--length)
        (entries (and seq reel-copy--entries)))
    (while (and entries (> (caar entries) seq))
      (setq end (cdr (pop entries))))
    (if entries
        (list (+ (reel-copy--begin) (cdar entries)) (+ (reel-copy--begin) end) (caar entries))
      (list 1 (reel-copy--begin) (and seq 0)))))

(defun reel-copy--draft (push)
  "Show the draft in PUSH; if its text is empty, remove the draft."
  (let ((connection (plist-get push :connection)))
    (if (string-empty-p (plist-get push :text))
        (progn (push connection reel-copy--ended)
               (run-at-time reel-copy--grace nil #'reel-copy--end-drafts-in (current-buffer)))
      (setq reel-copy--ended (delete connection reel-copy--ended))
      (reel-copy--draft-all
       (if-let* ((known (assoc connection reel-copy--drafts)))
           (progn (setcdr known push) reel-copy--drafts)
         (append reel-copy--drafts (list (cons connection push))))))))

(defun reel-copy--end-drafts-in (buffer)
  "Remove the drafts in BUFFER that have ended."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (reel-copy--end-drafts)
      (force-mode-line-update))))

(defun reel-copy--end-drafts ()
  "Remove the drafts that have ended."
  (let ((ended reel-copy--ended))
    (setq reel-copy--ended nil)
    (reel-copy--draft-all
     (cl-remove-if (lambda (draft) (memql (car draft) ended)) reel-copy--drafts))))

(defun reel-copy--supersede (message)
  "Append MESSAGE in place of the drafts that have ended.
Who reads a draft goes on in the same line of the message."
  (let* ((begin (reel-copy--end))
         (windows (get-buffer-window-list nil nil t))
         (point (reel-copy--offset begin (point)))
         (places (mapcar (lambda (window)
                           (list window
                                 (reel-copy--offset begin (window-point window))
                                 (reel-copy--offset begin (window-start window))))
                         windows)))
    (reel-copy--append (list message))
    (reel-copy--end-drafts)
    (when point
      (goto-char (reel-copy--at begin point)))
    (pcase-dolist (`(,window ,its-point ,its-start) places)
      (when its-point
        (set-window-point window (reel-copy--at begin its-point)))
      (when its-start
        (set-window-start window (reel-copy--at begin its-start) t)))))

(defun reel-copy--offset (begin position)
  "Return the lines from BEGIN to POSITION and its column, as a cons.
Return nil if POSITION is before BEGIN or at the end of the buffer."
  (when (and (<= begin position) (< position (point-max)))
    (save-excursion
      (goto-char position)
      (cons (count-lines begin (line-beginning-position))
            (- position (line-beginning-position))))))

(defun reel-copy--at (begin offset)
  "Return the position that has OFFSET from BEGIN; see `reel-copy--offset'."
  (save-excursion
    (goto-char begin)
    (forward-line (car offset))
    (min (+ (point) (cdr offset)) (line-end-position))))

(defun reel-copy-writers ()
  "Return the names of the clients that are writing; nil for one without."
  (mapcar (lambda (draft) (plist-get (cdr draft) :client)) reel-copy--drafts))

(defun reel-copy--draft-all (drafts)
  "Show DRAFTS at the end, and nothing else."
  (when (or drafts reel-copy--drafts)
    (setq reel-copy--drafts drafts)
    (let* ((text (mapconcat (lambda (draft)
                              (reel-text-draft (plist-get (cdr draft) :client)
                                               (plist-get (cdr draft) :text)))
                            drafts ""))
           (shown (buffer-substring-no-properties (reel-copy--end) (point-max)))
           (same (compare-strings shown nil nil text nil nil)))
      (unless (eq same t)
        (reel-copy--rewrite (1- (abs same)) text)))))

(defun reel-copy--rewrite (same text)
  "Replace what is after the entries by TEXT, except the first SAME characters.
A draft grows at its end: point stays where somebody reads it."
  (reel-copy--editing
    (delete-region (+ (reel-copy--end) same) (point-max))
    (goto-char (point-max))
    (insert (substring text same))))

(provide 'reel-copy)
;;; reel-copy.el ends here
