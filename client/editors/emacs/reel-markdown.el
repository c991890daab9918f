;;; reel-markdown.el --- Faces for Markdown  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Faces are added by `reel-markdown-fontify' to the part of a buffer that is
;; shown, so a long conversation costs nothing.
;;
;; The language of a fence is other people's text: only the modes in
;; `reel-markdown--modes' are run, without hooks and without local variables.

;;; Code:

(require 'subr-x)

(defconst reel-markdown--modes
  '(("bash" . sh-mode) ("c" . c-mode) ("cpp" . c++-mode) ("css" . css-mode) ("diff" . diff-mode)
    ("go" . go-mode) ("java" . java-mode) ("javascript" . js-mode) ("js" . js-mode) ("json" . js-mode)
    ("lua" . lua-mode) ("py" . python-mode) ("python" . python-mode) ("ruby" . ruby-mode)
    ("rust" . rust-mode) ("sh" . sh-mode) ("sql" . sql-mode) ("typescript" . typescript-mode)
    ("yaml" . yaml-mode))
  "The mode of each language, by the words that fences use.")

(defconst reel-markdown--opening ; a fence that is longer does not fit into a regexp
  "^ \\{0,3\\}\\(?:\\(?1:`\\{3,99\\}\\)[ \t]*\\(?2:[^ \t\n`]*\\)\\(?:[ \t][^`\n]*\\)?$\\|\\(?1:~\\{3,99\\}\\)[ \t]*\\(?2:[^ \t\n]*\\)\\)"
  "A fence that opens a code block, and a word (CommonMark, section 4.5).")

(defconst reel-markdown--keywords
  '(("^#\\{1,6\\} .*$" . bold)
    ("\\*\\*[^*\n]+\\*\\*" . bold)
    ("`[^`\n]+`" . font-lock-constant-face))
  "The faces of what is not a code block.")

(defconst reel-markdown--near 2000
  "Up to how many characters more get faces, to the end of their line.")

(defconst reel-markdown--far 100000
  "How many characters away a fence is looked for.")

(defconst reel-markdown--large 20000
  "From how many characters on a code block has no faces; some modes are slow.")

(defun reel-markdown-fontify (start end)
  "Add faces between START and END, and a little more; for `jit-lock-register'."
  (save-excursion
    (let ((inhibit-read-only t)
          (case-fold-search nil)
          (last (progn (goto-char end) (min (line-end-position) (+ end reel-markdown--near)))))
      (goto-char (reel-markdown--begin start))
      (while (< (point) end)
        (let* ((begin (max start (point)))
               (limit (reel-markdown--limit last))
               (stop (min limit last))
               (fence (and (re-search-forward reel-markdown--opening stop t) (match-beginning 0)))
               (next (if fence (reel-markdown--fontify-code limit) stop)))
          (reel-markdown--fontify-text begin (or fence stop))
          (goto-char next)))
      `(jit-lock-bounds ,start . ,(max end (point))))))

(defun reel-markdown--begin (position)
  "Return where to begin, to know whether POSITION is in a code block.
That is where its text or fold begins, or in a long one some place before."
  (let ((near (max (point-min) (- position reel-markdown--far)))
        (after (min (1+ position) (point-max))))
    (goto-char (max (previous-single-property-change after 'reel-heading nil near)
                    (previous-single-property-change after 'reel-fold nil near)))
    (line-beginning-position)))

(defun reel-markdown--limit (end)
  "Return where the text or the fold at point ends, or some place after END."
  (let ((far (min (point-max) (+ end reel-markdown--far))))
    (min (next-single-property-change (point) 'reel-heading nil far)
         (next-single-property-change (point) 'reel-fold nil far))))

(defun reel-markdown--fontify-text (start end)
  "Add faces to the text between START and END, which is no code."
  (pcase-dolist (`(,regexp . ,face) reel-markdown--keywords)
    (goto-char start)
    (while (and (< (point) end) (re-search-forward regexp end t))
      (unless (get-text-property (match-beginning 0) 'face)
        (put-text-property (match-beginning 0) (match-end 0) 'face face)))))

(defun reel-markdown--fontify-code (limit)
  "Add faces to the code block whose fence was found; return where it ends.
That is at LIMIT at the latest."
  (let ((mode (cdr (assoc (downcase (match-string-no-properties 2)) reel-markdown--modes)))
        (closing (format "^ \\{0,3\\}%s+[ \t]*$" (regexp-quote (match-string 1))))
        (begin (min limit (line-beginning-position 2))))
    (goto-char begin)
    (let* ((found (re-search-forward closing limit t))
           (end (if found (match-beginning 0) limit)))
      (when (and (fboundp mode) (< begin end (+ begin reel-markdown--large)))
        ;; Later: a mode may have to be loaded, which takes a tenth of a second.
        (run-with-idle-timer 0 nil #'reel-markdown--copy-faces (copy-marker begin) (copy-marker end) mode))
      (or found limit))))

(defun reel-markdown--copy-faces (begin end mode)
  "Give the text between the markers BEGIN and END the faces that it has in MODE."
  (when (buffer-live-p (marker-buffer begin))
    (with-current-buffer (marker-buffer begin)
      (with-silent-modifications
        (pcase-dolist (`(,from ,to ,face)
                       (reel-markdown--faces (buffer-substring-no-properties begin end) mode))
          (put-text-property (+ begin from) (+ begin to) 'face face))))))

(defun reel-markdown--faces (text mode)
  "Return the faces of TEXT in MODE: a list of a begin, an end and a face."
  (with-temp-buffer
    (insert text)
    (setq-local enable-local-variables nil)
    (let ((inhibit-message t) ; python-mode says that it cannot guess the indentation
          (message-log-max nil))
      (delay-mode-hooks (funcall mode))
      (font-lock-ensure))
    (let ((at (point-min)) found)
      (while (< at (point-max))
        (let ((next (next-single-property-change at 'face nil (point-max))))
          (when-let* ((face (get-text-property at 'face)))
            (push (list (1- at) (1- next) face) found))
          (setq at next)))
      found)))

(provide 'reel-markdown)
;;; reel-markdown.el ends here
