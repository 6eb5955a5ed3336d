/**
 * Loaded before a program: appends the address of each module that it loads to the file of MODULES_FILE.
 */
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const file = process.env.MODULES_FILE ?? ''

registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) appendFileSync(file, `${url}\n`)
    return next(url, context)
  },
})
