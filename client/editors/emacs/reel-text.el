;;; reel-text.el --- What is said about conversations  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Faces, and words about what the daemon sends, plists.  These functions use no
;; connection and no buffer.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defface reel-heading '((t :inherit font-lock-keyword-face :weight bold))
  "The heading of a message."
  :group 'reel)

(defface reel-label '((t :inherit font-lock-comment-face))
  "The line above a fold, and what is no part of a conversation."
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

(defun reel-text-past (name seq)
  "Return the words below the conversation NAME as it was at the event SEQ."
  (format "%s as it was at #%d (M-x reel-open shows it as it is now)" name seq))

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

(defun reel-text-marks (info)
  "Return the labels set in INFO, newest first, each once."
  (delete-dups
   (delq nil (nreverse (mapcar (lambda (mark) (plist-get mark :label)) (plist-get info :marks))))))

(provide 'reel-text)
;;; reel-text.el ends here
