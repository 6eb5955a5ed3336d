/**
 * What commands that run program text have in common.
 */

import { type Field, hasUnknown, literalText } from './field.ts'
import { type RuleMatch, requireApproval } from './rule-match.ts'
import type { SimpleCommand } from './simple-command.ts'

export interface EmbeddedScript {
  /** Shell text to be judged as a script of its own; undefined when it is not known before it runs. */
  readonly shell?: string | undefined
  readonly match?: RuleMatch | undefined
}

export const shellText = requireApproval(
  'shell-text',
  'runs a command given as text (`-c`); run the command itself instead',
)
export const unknownScript = requireApproval('unknown-script', 'runs program text that is known only when it runs')
export const pipedShell = requireApproval('piped-shell', 'feeds what another command prints, or a text, to a shell')
export const evalText = requireApproval('eval', 'evaluates text as a command')
export const inlineCode = requireApproval(
  'inline-code',
  'runs program text given on the command line or by a pipe; write a file and run that instead',
)

/** What a shell without a script reads from its input. */
export function scriptsFromInput({ input }: SimpleCommand, finding: RuleMatch): EmbeddedScript[] {
  switch (input.kind) {
    case 'none':
      return []
    case 'file':
      return hasUnknown(input.field) ? [{ match: unknownScript }] : []
    case 'open':
      return [{ match: finding }]
    case 'text':
    case 'pipe':
      return [{ shell: input.text, match: finding }]
  }
}

export const readsStdin = (field: Field | undefined) =>
  field === undefined || /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/.test(literalText(field) ?? '')
