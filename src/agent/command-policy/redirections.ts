/**
 * The redirections of a command: where it writes to, and what it reads.
 */
import type { Command } from 'unbash'
import { type ExpandContext, expandQuoted, expandWord } from './expand-word.ts'
import { literalText } from './field.ts'
import type { CommandInput, Redirection } from './simple-command.ts'

type Redirects = Command['redirects']
type HereDoc = Extract<Redirects[number], { type: 'HereDoc' }>

/** The files named; here-documents are none. */
export function redirectionsOf(redirects: Redirects, context: ExpandContext): Redirection[] {
  return redirects.flatMap((redirect) => {
    if (redirect.type !== 'Redirect' || redirect.target === undefined) return []
    const { operator } = redirect
    return expandWord(redirect.target, context).map((target) => ({ operator, target }))
  })
}

/** What the command reads: the last redirection of the input decides, `otherwise` where there is none. */
export function inputOf(redirects: Redirects, context: ExpandContext, otherwise: CommandInput): CommandInput {
  let found = otherwise
  for (const redirect of redirects) found = inputOfRedirection(redirect, context) ?? found
  return found
}

function inputOfRedirection(redirect: Redirects[number], context: ExpandContext): CommandInput | undefined {
  if (redirect.type === 'HereDoc') return { kind: 'text', text: hereDocText(redirect, context) }
  const [field] = redirect.target === undefined ? [] : expandWord(redirect.target, context)
  if (redirect.type === 'HereString') return { kind: 'text', text: literalText(field) }
  const reads = redirect.operator === '<' || redirect.operator === '<>'
  return reads && field !== undefined ? { kind: 'file', field } : undefined
}

/** The text of a here-document; undefined when a part of it is known only when it runs. */
export function hereDocText({ delimiter, body }: HereDoc, context: ExpandContext): string | undefined {
  if (delimiter?.quoted === true || body.parts === undefined) return body.text
  return literalText(expandQuoted(body.parts, context))
}
