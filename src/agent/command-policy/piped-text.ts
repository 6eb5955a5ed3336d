/**
 * What a command prints into a pipe, where its text tells: `echo …`, `printf …`, `cat` of a here-document.
 */
import type { CommandNode } from 'unbash'
import { type ExpandContext, expandWord } from './expand-word.ts'
import { joinLiterals, literalText } from './field.ts'
import { hereDocText } from './redirections.ts'
import { printfOutput } from './substitution.ts'

/** Undefined when only running it would tell. */
export function knownPipeText(node: CommandNode | undefined, context: ExpandContext): string | undefined {
  if (node?.type !== 'Command') return undefined
  const args = node.suffix.flatMap((word) => (word.type === 'Word' ? expandWord(word, context) : []))
  switch (node.name?.value) {
    case 'echo':
      return joinLiterals(args.filter((field) => !/^-[neE]+$/.test(literalText(field) ?? '')))
    case 'printf':
      return printfOutput(args)
    case 'cat': {
      const document = node.redirects.find((redirect) => redirect.type === 'HereDoc')
      if (document === undefined || args.length > 0) return undefined
      return hereDocText(document, context)
    }
    default:
      return undefined
  }
}
