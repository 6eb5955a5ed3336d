/**
 * Shows a growing Markdown text. An update parses only the last two blocks again, because new text can still change
 * them.
 */
import { parseMarkdown, renderBlock } from './markdown.js'
import { morphChildren } from './morph.js'

/**
 * @param {Element} root
 * @returns {{ update: (text: string, finished: boolean) => void }}
 */
export function createProse(root) {
  let source = ''
  /** The completed part: its length in the source and the number of its nodes. */
  let settledChars = 0
  let settledNodes = 0
  let isFinished = false

  return {
    update(text, finished) {
      const next = text.replace(/\r\n?/g, '\n')
      if (isFinished && finished && next === source) return
      isFinished = finished
      // The final text is parsed as a whole, because a link definition may be far from its use.
      if (finished || !next.startsWith(source.slice(0, settledChars))) {
        settledChars = 0
        settledNodes = 0
      }
      source = next
      const blocks = parseMarkdown(next.slice(settledChars)).map((token) => ({ token, node: renderBlock(token) }))
      const nodes = blocks.map(({ node }) => node).filter((node) => node !== null)
      morphChildren(root, nodes, settledNodes)
      if (!finished) settle(blocks)
      else if (next.includes('mermaid')) void import('./diagram.js').then(({ drawDiagrams }) => drawDiagrams(root))
    },
  }

  /** @param {{ token: { raw: string }, node: Node | null }[]} blocks */
  function settle(blocks) {
    const visible = blocks.filter(({ node }) => node !== null)
    const changeable = visible.at(-2)
    if (changeable === undefined) return
    for (const block of blocks) {
      if (block === changeable) return
      settledChars += block.token.raw.length
      if (block.node !== null) settledNodes += 1
    }
  }
}
