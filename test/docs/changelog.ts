/**
 * Prints the section of a version from the changelog, for the page of a release: `node test/docs/changelog.ts 0.2.0`. Exit code 1 if
 * there is none.
 */
import process from 'node:process'
import { textOf } from './repository.ts'

const version = process.argv[2] ?? ''
const sections = textOf('CHANGELOG.md').split(/^## /m)
const section = sections.find((text) => text.startsWith(`${version} `) || text.startsWith(`[${version}]`))
if (version === '' || section === undefined) {
  process.stderr.write(`CHANGELOG.md has no section of version ${version}\n`)
  process.exitCode = 1
} else process.stdout.write(section.slice(section.indexOf('\n')).trim().concat('\n'))
