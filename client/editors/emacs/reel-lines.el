;;; reel-lines.el --- A buffer that shows a conversation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The daemon lays a conversation out as lines, and pushes patches of them
;; (docs/protocol.md, "Following as lines").  A buffer knows nothing of
;; messages: it applies the patches, in order.  Each row of the daemon is a line
;; of the buffer.  Below the rows may be a line of the buffer's own, the note; or
;; the rows of the subscription before, until everything has been read again, so
;; that who reads keeps the place.
;;
;; The text is other people's.  It is inserted without properties; those are
;; made here, from rows.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'reel-link)
(require 'reel-text)

(defvar-local reel-lines-agent nil
  "The id of the agent that this buffer shows.")

(defvar-local reel-lines-name nil
  "The name of the agent that this buffer shows.")

(defvar-local reel-lines-past nil
  "The seq of an event if this buffer shows the conversation as it was then.")

(defvar-local reel-lines-state nil
  "Why the buffer is not current, as a word: `reading', `away'; nil if it is.")

(defvar-local reel-lines--turn 0
  "How often this buffer has subscribed, or lost its subscription.")

(defvar-local reel-lines--subscription nil
  "The number of the subscription, or nil.")

(defvar-local reel-lines--rows 0
  "How many rows of the daemon there are.")

(defvar-local reel-lines--known '(0 . 1)
  "A row, and where it begins.")

(defvar-local reel-lines--stale 0
  "How many rows of the subscription before there are below those.")

(defvar-local reel-lines--then nil
  "What waits for a message, or nil: its seq, a function, and whether it has begun.")

(defvar reel-lines--gc-timer nil
  "The timer that sets `gc-cons-threshold' back, or nil.")

(defvar reel-lines--gc-threshold nil
  "What `gc-cons-threshold' was before.")

(defmacro reel-lines--editing (&rest body)
  "Change the text with BODY; points on its last line stay at its end."
  (declare (indent 0) (debug t))
  `(save-restriction
     (widen)
     (let* ((inhibit-read-only t)
            (bottom (save-excursion (goto-char (point-max)) (forward-line -1) (point)))
            (windows (cl-remove-if (lambda (window) (< (window-point window) bottom))
                                   (get-buffer-window-list nil nil t)))
            (at-end (>= (point) bottom)))
       (save-excursion ,@body)
       (when at-end
         (goto-char (point-max)))
       (dolist (window windows)
         (set-window-point window (point-max)))
       (set-buffer-modified-p nil))))

(defun reel-lines--goto (row)
  "Go to ROW, or to the end if there are fewer; return the place.
Go from the nearer of the beginning and the row of the last time."
  (pcase-let ((`(,from . ,position)
               (if (< row (abs (- row (car reel-lines--known)))) '(0 . 1) reel-lines--known)))
    (goto-char position)
    (let ((missing (forward-line (- row from))))
      (setq reel-lines--known (cons (- row missing) (point))))
    (point)))

;;;; Following

(defun reel-lines-start (agent name &optional past)
  "Show AGENT, whose name is NAME, in the current buffer.
With PAST, the seq of an event, show the conversation as it was then."
  (setq reel-lines-agent agent
        reel-lines-name name
        reel-lines-past past)
  (add-hook 'kill-buffer-hook #'reel-lines--leave nil t)
  (reel-lines-follow))

(defun reel-lines-buffer-name (name past)
  "Return the name of the buffer for the agent named NAME.
PAST is the seq of an event if it shows the conversation as it was then."
  (format "*reel %s%s*" name (if past (format "#%d" past) "")))

(defun reel-lines-when-there (seq function)
  "Call FUNCTION in the current buffer, once the message with SEQ is there.
If there is no such message, call it when everything has been read."
  (setq reel-lines--then (list seq function nil))
  (when (and reel-lines--subscription (null reel-lines-state))
    (reel-lines--arrive nil)))

(defun reel-lines--arrive (headings)
  "Call the function that waits for a message, if that is there.
HEADINGS are those of a patch.  A message is there when the next one begins."
  (pcase-let ((`(,seq ,function ,begun) reel-lines--then)
              (seqs (mapcar (lambda (heading) (aref heading 2)) headings)))
    (cond ((null function))
          ((or (null reel-lines-state) begun (cdr (memql seq seqs)))
           (setq reel-lines--then nil)
           (funcall function))
          (t (setf (nth 2 reel-lines--then) (memql seq seqs))))))

(defun reel-lines-follow ()
  "Subscribe, and show the rows that come in place of those that are there."
  (reel-lines--leave)
  (reel-lines--begin "reading" nil)
  (setq reel-lines--stale reel-lines--rows
        reel-lines--rows 0
        reel-lines--known '(0 . 1))
  (if (reel-link-knows-p "facts")
      (reel-link-ask 'subscribe
                     (list :agent reel-lines-agent :view "lines" :at reel-lines-past)
                     (apply-partially #'reel-lines--subscribed
                                      (current-buffer) reel-lines--turn (reel-link-number)))
    (reel-lines--fail "this reeld cannot show lines; restart the daemon: reel stop; reel start")))

(defun reel-lines-lost (words)
  "Show WORDS: the connection was lost."
  (reel-lines--begin "away" words))

(defun reel-lines--fail (words)
  "Stop following; WORDS say why."
  (reel-lines--leave)
  (reel-lines--begin "stopped" words)
  (setq reel-lines--then nil)
  (message "%s: %s" reel-lines-name words))

(defun reel-lines--begin (state note)
  "Begin another turn with STATE and NOTE."
  (cl-incf reel-lines--turn)
  (setq reel-lines-state state
        reel-lines--subscription nil
        bidi-paragraph-direction nil)
  (when (> reel-lines--stale 0) ; they were not replaced
    (reel-lines--editing
      (delete-region 1 (reel-lines--goto reel-lines--rows)))
    (setq reel-lines--rows reel-lines--stale
          reel-lines--stale 0
          reel-lines--known '(0 . 1)))
  (reel-lines--put-note note)
  (force-mode-line-update))

(defun reel-lines--subscribed (buffer turn link error result)
  "In BUFFER, take RESULT, the subscription, or show ERROR.
If TURN is over, end it, unless it ended with its connection, LINK."
  (if (and (buffer-live-p buffer)
           (= turn (buffer-local-value 'reel-lines--turn buffer)))
      (with-current-buffer buffer
        (if error
            (reel-lines--fail error)
          (setq reel-lines--subscription (plist-get result :sub))))
    (when result
      (reel-lines--unsubscribe link (plist-get result :sub)))))

(defun reel-lines--leave ()
  "End the subscription."
  (when reel-lines--subscription
    (reel-lines--unsubscribe (reel-link-number) reel-lines--subscription)))

(defun reel-lines--unsubscribe (link subscription)
  "End SUBSCRIPTION, unless it ended with its connection, whose number is LINK."
  (when (and (reel-link-up-p) (= link (reel-link-number)))
    (reel-link-ask 'unsubscribe (list :sub subscription) #'ignore)))

(defun reel-lines-hear (method params)
  "Take the push METHOD with PARAMS if it is for the current buffer."
  (when (and reel-lines--subscription
             (eql (plist-get params :sub) reel-lines--subscription))
    (pcase method
      ('lines (reel-lines--patch params))
      ('lagged (reel-lines-follow))
      ('reset (reel-lines--fail "the conversation is gone")))))

(defun reel-lines--rename (name)
  "Show that the conversation is called NAME now."
  (unless (equal name reel-lines-name)
    (setq reel-lines-name name)
    (rename-buffer (reel-lines-buffer-name name reel-lines-past) t)))

;;;; The text

(defun reel-lines--patch (patch)
  "Apply PATCH."
  (pcase-let ((`[,first ,last] (plist-get patch :replace))
              (lines (plist-get patch :lines)))
    (reel-lines--editing
      (reel-lines--replace first last (reel-lines--dated lines first patch))
      (reel-lines--decorate patch))
    (cl-incf reel-lines--rows (- (length lines) (- last first)))
    (reel-lines--rename (plist-get patch :name))
    (let ((more (eq (plist-get patch :more) t)))
      ;; Else redisplay looks for the beginning of the paragraph after each patch:
      ;; it took 4.9 of 5.4 seconds to show 200,000 rows.
      (setq bidi-paragraph-direction (and more 'left-to-right))
      (if more (reel-lines--put-off-gc) (reel-lines--complete)))
    (reel-lines--arrive (plist-get patch :headings))
    (force-mode-line-update)))

(defun reel-lines--put-off-gc ()
  "Collect garbage less often, until no patch has come for a second.
Each collection looks at the whole buffer: they took 3.5 of 5 seconds to show
50,000 messages."
  (if reel-lines--gc-timer
      (cancel-timer reel-lines--gc-timer)
    (setq reel-lines--gc-threshold gc-cons-threshold
          gc-cons-threshold (max gc-cons-threshold (* 64 1024 1024))))
  (setq reel-lines--gc-timer (run-at-time 1 nil #'reel-lines--resume-gc)))

(defun reel-lines--resume-gc ()
  "Collect garbage as often as before."
  (setq gc-cons-threshold reel-lines--gc-threshold
        reel-lines--gc-timer nil))

(defun reel-lines--complete ()
  "Take note that everything has been read."
  (when reel-lines-state
    (setq reel-lines-state nil)
    (let ((places (reel-lines--places))
          (folds (reel-lines--open-folds)))
      (reel-lines--put-note (and reel-lines-past (reel-text-past reel-lines-name reel-lines-past)))
      (reel-lines--editing (mapc #'reel-lines--open-again folds))
      (reel-lines--return places))
    (setq reel-lines--stale 0)))

(defun reel-lines--dated (lines first patch)
  "Return LINES as a list, with the times of PATCH's headings behind theirs.
FIRST is the row of the first one."
  (seq-doseq (heading (plist-get patch :headings))
    (pcase-let ((`[,row ,_ ,_ ,time] heading))
      (when time
        (cl-callf concat (aref lines (- row first)) " · " (reel-text-time time)))))
  (append lines nil))

(defun reel-lines--replace (first last lines)
  "Replace the rows from FIRST up to LAST by LINES, a list.
A line that is the same is not touched, and point stays in its row."
  (let ((end (progn (reel-lines--goto last) (point-marker))))
    (reel-lines--goto first)
    (remove-list-of-text-properties
     (point) end '(reel-heading reel-fold invisible display face fontified))
    (let ((begin (point)))
      (while (and lines (< (point) end))
        (reel-lines--replace-line (pop lines))
        (forward-line))
      (cond ((and lines (eobp)) (insert (string-join lines "\n") "\n"))
            (lines (insert-before-markers (string-join lines "\n") "\n")) ; what begins here goes down
            ((= (point) begin) (delete-region begin end))
            ((< (point) end) (delete-region (1- (point)) (1- end)))))
    (set-marker end nil)))

(defun reel-lines--replace-line (line)
  "Replace the line at point by LINE; what both begin with is not touched."
  (let* ((end (line-end-position))
         (same (compare-strings (buffer-substring-no-properties (point) end) nil nil line nil nil)))
    (unless (eq same t)
      (save-excursion
        (forward-char (1- (abs same)))
        (delete-region (point) end)
        (insert (substring line (1- (abs same))))))))

(defun reel-lines--decorate (patch)
  "Add headings, folds and the ends of cut lines, as PATCH has them."
  (seq-doseq (heading (plist-get patch :headings))
    (pcase-let ((`[,row ,role ,seq ,_] heading))
      (reel-lines--goto row)
      (add-text-properties (point) (line-end-position)
                           `(face reel-heading reel-heading ,(cons role seq)))))
  (seq-doseq (fold (plist-get patch :folds))
    (reel-lines--goto (aref fold 0))
    (let ((begin (line-end-position)))
      (put-text-property (point) begin 'face 'reel-label)
      (reel-lines--goto (aref fold 1))
      (add-text-properties begin (line-end-position) '(reel-fold t invisible reel-fold))))
  (seq-doseq (mark (plist-get patch :marks))
    (reel-lines--goto (aref mark 0))
    (put-text-property (line-end-position) (1+ (line-end-position)) 'display
                       (concat " " (propertize (aref mark 1) 'face 'reel-label) "\n"))))

(defun reel-lines--put-note (words)
  "Show WORDS in the last line; if they are nil, show none."
  (reel-lines--editing
    (reel-lines--goto reel-lines--rows)
    (delete-region (point) (point-max))
    (when words
      (insert (propertize (format "*%s*\n" words) 'face 'reel-label)))))

;;;; Places

(defun reel-lines--places ()
  "Return where the windows are: each, the rows of its point and of its start.
A window is nil for point itself, and the row of a point at the end.  A row of
the subscription before counts from its beginning."
  (let ((row (lambda (position)
               (let ((row (1- (line-number-at-pos position t))))
                 (if (< row reel-lines--rows) row (- row reel-lines--rows))))))
    (cl-loop for window in (cons nil (get-buffer-window-list nil nil t))
             for point = (if window (window-point window) (point))
             collect (list window
                           (and (< point (1- (point-max))) (funcall row point))
                           (and window (funcall row (window-start window)))))))

(defun reel-lines--return (places)
  "Go back to PLACES."
  (let ((at (lambda (row) (save-excursion (reel-lines--goto row)))))
    (pcase-dolist (`(,window ,point ,start) places)
      (when window
        (set-window-start window (funcall at start) t))
      (when point
        (if window (set-window-point window (funcall at point)) (goto-char (funcall at point)))))))

(defun reel-lines--open-folds ()
  "Return the folds of the subscription before that are open.
That is a list of a row, counted from its beginning, and the line there."
  (save-excursion
    (let ((at (reel-lines--goto reel-lines--rows)) found)
      (while (setq at (text-property-any at (point-max) 'reel-fold t))
        (unless (get-text-property at 'invisible)
          (goto-char at)
          (push (cons (- (line-number-at-pos at t) 1 reel-lines--rows)
                      (buffer-substring-no-properties (line-beginning-position) at))
                found))
        (setq at (next-single-property-change at 'reel-fold nil (point-max))))
      found)))

(defun reel-lines--open-again (fold)
  "Open FOLD, a row and its line, if it is there."
  (let ((begin (progn (reel-lines--goto (car fold)) (line-end-position))))
    (when (and (get-text-property begin 'reel-fold)
               (equal (cdr fold) (buffer-substring-no-properties (point) begin)))
      (put-text-property begin (next-single-property-change begin 'reel-fold nil (point-max))
                         'invisible nil))))

(defun reel-lines-heading (change position limit)
  "Return where the heading begins to which CHANGE leads from POSITION, or nil.
CHANGE is a function like `next-single-property-change'; LIMIT is the end of the
buffer in that direction."
  (let ((at (funcall change position 'reel-heading nil limit)))
    (unless (get-text-property at 'reel-heading) ; the end of a heading
      (setq at (funcall change at 'reel-heading nil limit)))
    (and (/= at position) (get-text-property at 'reel-heading) at)))

(defun reel-lines--before (position)
  "Return where the last heading before POSITION begins, or nil."
  (reel-lines-heading #'previous-single-property-change position (point-min)))

(defun reel-lines-writers ()
  "Return who is writing, as their headings say it, the first one first."
  (let ((at (point-max)) words)
    (while (and (setq at (reel-lines--before at))
                (equal "draft" (car (get-text-property at 'reel-heading))))
      (push (string-remove-prefix "## assistant · "
                                  (save-excursion
                                    (goto-char at)
                                    (buffer-substring-no-properties at (line-end-position))))
            words))
    words))

(defun reel-lines-place (seq)
  "Return where the message with SEQ is: a list of its begin, its end and SEQ.
If there is no such message, it is that of the message before.  If SEQ is nil,
or there is no message before, it is that of the prompt, without a seq."
  (let* ((end (point-max))
         (at (reel-lines--before end)))
    (while (and at (pcase (get-text-property at 'reel-heading)
                     (`("draft" . ,_) t)
                     (`(,_ . ,its) (and its (or (null seq) (> its seq))))))
      (setq end at
            at (reel-lines--before at)))
    (list (or at 1) end (and at (cdr (get-text-property at 'reel-heading))))))

(provide 'reel-lines)
;;; reel-lines.el ends here
