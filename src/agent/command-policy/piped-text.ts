/**
 * What a command prints into a pipe, where its text tells: `echo …`, `printf …`, `cat` of a here-document.
 */
import type { CommandNode } from 'unbash'
import { type ExpandContext, expandWord } from './expand.ts'
import { joined, literal } from './field.ts'
import { documentText } from './redirections.ts'
import { printed } from './substitution.ts'

/** Undefined when only running it would tell. */
export function pipedText(node: CommandNode | undefined, context: ExpandContext): string | undefined {
  if (node?.type !== 'Command') return undefined
  const args = node.suffix.flatMap((word) => (word.type === 'Word' ? expandWord(word, context) : []))
  switch (node.name?.value) {
    case 'echo':
      return joined(args.filter((field) => !/^-[neE]+$/.test(literal(field) ?? '')))
    case 'printf':
      return printed(args)
    case 'cat': {
      const document = node.redirects.find((redirect) => redirect.type === 'HereDoc')
      if (document === undefined || args.length > 0) return undefined
      return documentText(document, context)
    }
    default:
      return undefined
  }
}
