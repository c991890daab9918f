;;; reel-text.el --- A conversation as text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; These functions turn what the daemon sends, plists, into the text that a
;; buffer shows.  They use no connection and no buffer.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'reel-markdown)

(defface reel-heading '((t :inherit font-lock-keyword-face :weight bold))
  "The heading of a message."
  :group 'reel)

(defface reel-label '((t :inherit font-lock-comment-face))
  "The line above a fold, and the line that stands for media."
  :group 'reel)

(defconst reel-text--bad "[^\x00-\ud7ff\ue000-\x10ffff]"
  "What a buffer may hold but is not a character: lone surrogates, raw bytes.")

(defun reel-text-plain (text)
  "Return a cons: TEXT as it may be sent, and how many characters were replaced."
  (let* ((count 0)
         (replace (lambda (_) (cl-incf count) "\ufffd"))
         (plain (replace-regexp-in-string reel-text--bad replace (string-to-multibyte text) t t)))
    (cons plain count)))

(defun reel-text-time (milliseconds)
  "Return the time MILLISECONDS after the epoch, in local time."
  (format-time-string "%F %T" (/ milliseconds 1000)))

(defun reel-text-minute (milliseconds)
  "Return the time MILLISECONDS after the epoch, without the seconds."
  (format-time-string "%F %H:%M" (/ milliseconds 1000)))

(defun reel-text-one-line (text)
  "Return TEXT without line breaks.
Names, titles and ids are other people's, and a line break would begin
another line."
  (replace-regexp-in-string "[\n\r]+" " " text t t))

(defun reel-text-prompt (system)
  "Return the text of the prompt SYSTEM, which may be nil."
  (if system
      (concat (reel-text--heading "system") (reel-text--body system) "\n")
    ""))

(defun reel-text-message (message tools)
  "Return the text of MESSAGE.
TOOLS is a hash table with the name of each tool by the id of its call; the
calls of MESSAGE are added."
  (concat (reel-text--heading (format "%s #%d · %s" (plist-get message :role)
                                      (plist-get message :seq)
                                      (reel-text-time (or (plist-get message :sent)
                                                          (plist-get message :time)))))
          (mapconcat (lambda (block)
                       (concat (reel-text--marked (reel-text--block block tools) block message) "\n"))
                     (plist-get message :content) "")))

(defun reel-text--marked (text block message)
  "Return TEXT of BLOCK in MESSAGE, with its code blocks marked if it is an answer."
  (if (and (equal (plist-get block :type) "text")
           (equal (plist-get message :role) "assistant"))
      (reel-markdown-mark text (plist-get message :seq))
    text))

(defun reel-text-draft (client text)
  "Return the text of a draft: what CLIENT has written so far is TEXT.
CLIENT is the name of a program; nil if it has none."
  (concat (reel-text--heading (concat "assistant · writing…" (and client (format " (%s)" client))))
          (reel-text--body text) "\n"))

(defun reel-text-past (name seq)
  "Return the line below the conversation NAME as it was at the event SEQ."
  (propertize (format "*%s as it was at #%d (M-x reel-open shows it as it is now)*\n" name seq)
              'face 'reel-label))

(defun reel-text--heading (words)
  "Return the heading of a message, with WORDS."
  (concat (propertize (concat "## " (reel-text-one-line words)) 'face 'reel-heading 'reel-heading t)
          "\n\n"))

(defun reel-text--body (text)
  "Return TEXT with a newline at its end."
  (if (string-suffix-p "\n" text) text (concat text "\n")))

(defun reel-text--label (words)
  "Return the line above a block: those of WORDS that are not nil."
  (propertize (reel-text-one-line (concat "### " (string-join (delq nil words) " ")))
              'face 'reel-label))

(defun reel-text--note (&rest words)
  "Return a line of those WORDS that are not nil."
  (concat (reel-text--label words) "\n"))

(defun reel-text--folded (words text)
  "Return TEXT, folded, under the label WORDS."
  (let ((hidden (concat "\n" (string-remove-suffix "\n" text))))
    (concat (reel-text--label words)
            (propertize hidden 'reel-fold t 'invisible 'reel-fold)
            "\n")))

(defun reel-text--fenced (text language)
  "Return TEXT, in LANGUAGE, between fences that are longer than any in it."
  (let* ((ticks (mapcar #'length (split-string text "[^`]+" t)))
         (fence (make-string (1+ (apply #'max 2 ticks)) ?`)))
    (concat fence language "\n" (reel-text--body text) fence)))

(defun reel-text--block (block tools)
  "Return the text of BLOCK; TOOLS is as in `reel-text-message'."
  (pcase (plist-get block :type)
    ("text" (reel-text--body (plist-get block :text)))
    ("thinking" (reel-text--folded '("thinking") (plist-get block :text)))
    ("redacted_thinking"
     (reel-text--note (format "thinking, redacted (%d characters)" (length (plist-get block :data)))))
    ("tool_call"
     (puthash (plist-get block :id) (plist-get block :name) tools)
     (reel-text--folded (list "call" (plist-get block :name) (plist-get block :id))
                        (reel-text--fenced (plist-get block :arguments) "json")))
    ("tool_result" (reel-text--result block tools))
    ("media" (reel-text--media block))
    ("opaque"
     (reel-text--folded (list "opaque block of" (plist-get block :provider))
                        (reel-text--fenced (plist-get block :data_json) "json")))
    (type (reel-text--note "block of type" type "(a newer plug-in can show it)"))))

(defun reel-text--result (block tools)
  "Return the text of BLOCK, a tool's result; TOOLS is as in `reel-text-message'."
  (let* ((content (plist-get block :content))
         (id (plist-get block :tool_call_id))
         (name (gethash id tools))
         (what (if (eq (plist-get block :is_error) t) "error" "result"))
         (text (if (stringp content)
                   content
                 (mapconcat (lambda (each) (reel-text--block each tools)) content ""))))
    (reel-text--folded (list what (and name "of") name id)
                       (reel-text--fenced (substring-no-properties text) ""))))

(defun reel-text--media (block)
  "Return the line that stands for BLOCK, a picture or the like."
  (reel-text--note "media" (plist-get block :mime_type) (plist-get block :name)
                   (or (plist-get block :url)
                       (format "%d bytes" (reel-text--size (plist-get block :data_base64))))))

(defun reel-text--size (base64)
  "Return how many bytes BASE64 encodes, with or without padding."
  (/ (* 3 (length (replace-regexp-in-string "=+\\'" "" base64 t t))) 4))

(defun reel-text-count (number thing)
  "Return NUMBER with the noun THING, in the plural if NUMBER is not 1."
  (format "%d %s%s" number thing (if (= number 1) "" "s")))

(defun reel-text-about (agent)
  "Return what AGENT is about: its title, else its first words; and who writes."
  (let ((drafts (mapcar (lambda (client) (format "(writing: %s)" (or client "somebody")))
                        (plist-get agent :drafts))))
    (reel-text-one-line
     (string-join (delq nil (append (list (or (plist-get agent :title) (plist-get agent :first_words))
                                          (and (equal (plist-get agent :turn) "tool")
                                               "(waits for a tool)"))
                                    drafts))
                  "  "))))

(defun reel-text-info (info &optional source)
  "Return the facts about a conversation, from its INFO: a line for each.
SOURCE is the name of the conversation that it was cloned from."
  (mapconcat (lambda (fact)
               (format "%-12s %s\n" (car fact) (reel-text-one-line (cdr fact))))
             (cl-remove-if (lambda (fact) (member (cdr fact) '(nil "")))
                           (reel-text--facts info source))
             ""))

(defun reel-text--facts (info name)
  "Return pairs of a name and a text about a conversation, from its INFO.
NAME is that of the conversation that it was cloned from, or nil."
  (let ((source (plist-get info :source)))
    `(("name" . ,(plist-get info :name))
      ("id" . ,(plist-get info :id))
      ("state" . ,(unless (eq (plist-get info :alive) t) "killed"))
      ("title" . ,(plist-get info :title))
      ("messages" . ,(number-to-string (plist-get info :messages)))
      ("head" . ,(format "#%d" (plist-get info :head)))
      ("marks" . ,(mapconcat #'reel-text--mark (plist-get info :marks) ", "))
      ("waiting for" . ,(mapconcat #'reel-text--call (plist-get info :open_calls) ", "))
      ("tags" . ,(reel-text--tags (plist-get info :tags)))
      ("cloned from" . ,(and source (format "%s at #%d" (or name (plist-get source :agent))
                                                (plist-get source :at))))
      ("created" . ,(reel-text-time (plist-get info :created)))
      ("updated" . ,(reel-text-time (plist-get info :updated)))
      ("followers" . ,(number-to-string (plist-get info :attached)))
      ("prompt" . ,(plist-get info :system)))))

(defun reel-text--mark (mark)
  "Return MARK as text."
  (string-join (delq nil (list (plist-get mark :label) (format "#%d" (plist-get mark :seq)))) " "))

(defun reel-text--call (call)
  "Return CALL as text."
  (format "%s %s" (plist-get call :name) (plist-get call :id)))

(defun reel-text--tags (tags)
  "Return TAGS, a plist, as text."
  (string-join (sort (cl-loop for (name value) on tags by #'cddr
                              collect (format "%s=%s" (substring (symbol-name name) 1) value))
                     #'string<)
               ", "))

(defun reel-text-marks (info)
  "Return the labels set in INFO, newest first, each once."
  (delete-dups
   (delq nil (nreverse (mapcar (lambda (mark) (plist-get mark :label)) (plist-get info :marks))))))

(provide 'reel-text)
;;; reel-text.el ends here
