#!/usr/bin/env node
/**
 * `hermes`: checks the version of Node, then hands over to `cli/`. This file and its static imports are plain JavaScript for
 * Node 16, so that an old Node can run them. All other files are imported after the check.
 */
import process from 'node:process'
import { nodeVersionProblem } from './config/node-version.mjs'

const problem = nodeVersionProblem(process.versions.node)
if (problem === undefined) {
  const { launch } = await import('./cli/launch.mjs')
  await launch(process)
} else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
