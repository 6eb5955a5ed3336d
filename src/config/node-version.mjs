/**
 * Whether this Node can run the program. Node 16 must be able to parse this file.
 */

/**
 * Why this version is too old and what to do, or `undefined`.
 * @param {string} version
 * @returns {string | undefined}
 */
export function nodeVersionProblem(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 24 || (major === 24 && minor >= 15)) return undefined
  return `hermes needs Node 24.15 or newer; this is ${version}.
In a checkout, \`npm ci\` installs a suitable one: run \`npm start\`, or \`npm run -s hermes -- <command>\`.`
}
