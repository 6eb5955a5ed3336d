/**
 * Opening files to everybody, or giving them away.
 */
import type { Rule } from '../call.ts'
import { ask } from '../finding.ts'
import { hasOption, literals } from '../options.ts'

/** The last digit of an octal mode is what everybody may do; 2 is writing. */
const worldWritableMode = /^[0-7]{0,4}[2367]$/
const worldWritableSymbols = /(?:^|,)[ug]*(?:o|a)[ugoa]*[+=][rxXst]*w/

export const permissions: Rule = ({ name, args }) => {
  const words = literals(args)
  if (name === 'chmod') {
    const open = words.some(
      (word) =>
        (/^\d{3,5}$/.test(word) && worldWritableMode.test(word)) || worldWritableSymbols.test(word) || word === 'ugo+w',
    )
    return open ? ask('world-writable', 'lets everybody write to files') : undefined
  }
  if (name === 'chown' || name === 'chgrp') {
    const toRoot = words.some((word) => /^(?:root|0)?:?(?:root|0)$|^(?:root|0):/.test(word))
    return toRoot && hasOption(args, 'R', ['recursive']) ? ask('chown-root', 'gives whole folders to root') : undefined
  }
  return undefined
}
