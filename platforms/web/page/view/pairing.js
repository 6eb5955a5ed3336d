/**
 * Names a person who asks for access.
 */
import { h } from '../dom.js'

/** @param {import('../../protocol.ts').WirePairingRequest} request */
export function describePerson({ platform, userId, userName, createdAt }) {
  const name = userName === '' ? userId : userName
  const since = new Date(createdAt).toLocaleTimeString([], { timeStyle: 'short' })
  // A name may turn the direction of what follows it.
  const person = h('bdi', {}, name)
  const origin = h('span', {}, `${platform}, `, h('bdi', {}, userId), `, since ${since}`)
  return { name, about: h('div', {}, person, origin) }
}
