/**
 * What a stream still has to send of an answer that grows. Pure apart from remembering what was sent.
 *
 * A stream can only append. Usually every text extends the one before, and only the unseen rest goes out. When a text
 * does not (a model call was tried again after half an answer, or a filter rewrote the end), what was sent cannot be
 * taken back: the new text follows as a paragraph of its own, so the answer that counts is always the end of the stream.
 */
export interface TextDelta {
  /** The text so far; gives what to append now, '' for nothing. */
  next(text: string): string
  /** The whole answer; gives the rest. */
  finish(text: string): string
}

export function createTextDelta(): TextDelta {
  let sent = ''

  const append = (text: string): string => {
    if (text.startsWith(sent)) {
      const rest = text.slice(sent.length)
      sent = text
      return rest
    }
    sent = text
    return `\n\n${text}`
  }

  return {
    next(text) {
      // Blanks at the end wait for what comes after them: the final text may come without them.
      const visible = withoutLoneSurrogate(text).trim()
      return sent.startsWith(visible) ? '' : append(visible)
    },
    finish(text) {
      const visible = text.trim()
      return visible === '' || visible === sent ? '' : append(visible)
    },
  }
}

/** A character of two units may be cut between two chunks of a model. */
function withoutLoneSurrogate(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text
}
