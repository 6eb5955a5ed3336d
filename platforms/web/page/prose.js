/**
 * A text of markdown on the page that may still grow. Only its end is read again while it does: the last two blocks,
 * because what follows can still change what they are.
 */
import { parseMarkdown, renderBlock } from './markdown.js'
import { morphChildren } from './morph.js'

/**
 * @param {Element} root
 * @returns {{ update: (text: string, finished: boolean) => void }}
 */
export function createProse(root) {
  let source = ''
  /** The part that is settled: its length in the source and the number of its nodes. */
  let settledChars = 0
  let settledNodes = 0

  return {
    update(text, finished) {
      const next = text.replace(/\r\n?/g, '\n')
      // The finished text is read as a whole: a link may be defined far from where it is used.
      if (finished || !next.startsWith(source.slice(0, settledChars))) {
        settledChars = 0
        settledNodes = 0
      }
      source = next
      const blocks = parseMarkdown(next.slice(settledChars)).map((token) => ({ token, node: renderBlock(token) }))
      const nodes = blocks.map(({ node }) => node).filter((node) => node !== null)
      morphChildren(root, nodes, settledNodes)
      if (!finished) settle(blocks)
    },
  }

  /** @param {{ token: { raw: string }, node: Node | null }[]} blocks */
  function settle(blocks) {
    const visible = blocks.filter(({ node }) => node !== null)
    const doubtful = visible.at(-2)
    if (doubtful === undefined) return
    for (const block of blocks) {
      if (block === doubtful) return
      settledChars += block.token.raw.length
      if (block.node !== null) settledNodes += 1
    }
  }
}
