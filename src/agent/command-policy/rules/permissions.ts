/**
 * Opening files to everybody, or giving them away.
 */

import { hasOption, literalArguments } from '../options.ts'
import { requireApproval } from '../rule-match.ts'
import type { CommandRule } from '../simple-command.ts'

/** The last digit of an octal mode is what everybody may do; 2 is writing. */
const worldWritableMode = /^[0-7]{0,4}[2367]$/
const worldWritableSymbols = /(?:^|,)[ug]*(?:o|a)[ugoa]*[+=][rxXst]*w/

export const permissions: CommandRule = ({ name, args }) => {
  const words = literalArguments(args)
  if (name === 'chmod') {
    const open = words.some(
      (word) =>
        (/^\d{3,5}$/.test(word) && worldWritableMode.test(word)) || worldWritableSymbols.test(word) || word === 'ugo+w',
    )
    return open ? requireApproval('world-writable', 'lets everybody write to files') : undefined
  }
  if (name === 'chown' || name === 'chgrp') {
    const toRoot = words.some((word) => /^(?:root|0)?:?(?:root|0)$|^(?:root|0):/.test(word))
    return toRoot && hasOption(args, 'R', ['recursive'])
      ? requireApproval('chown-root', 'gives whole folders to root')
      : undefined
  }
  return undefined
}
