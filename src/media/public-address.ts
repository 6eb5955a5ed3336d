/**
 * Whether an address belongs to the open internet. Everything else may be a machine of ours that trusts its neighbours.
 */
import ipaddr from 'ipaddr.js'

/** IPv4 or IPv6 in any spelling; what is neither is not public. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // A v4 address in v6 clothes is judged as what it is.
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return isPublicV4(parsed)
  const bytes = parsed.toByteArray()
  const embeddedIpv4 = bytes.slice(-4)
  if (startsWith(bytes, nat64Prefix)) return isPublicV4(ipaddr.fromByteArray(embeddedIpv4))
  // Of the rest only 2000::/3 has been given to anybody.
  return parsed.range() === 'unicast' && ((bytes[0] ?? 0) & 0xe0) === 0x20
}

type ParsedAddress = ReturnType<typeof ipaddr.parse>

function isPublicV4(address: ParsedAddress): boolean {
  return address.range() === 'unicast' && !cloudHostAddresses.includes(address.toString())
}

/** Services of a cloud's host for its guests, reached at an address that looks public. */
const cloudHostAddresses = ['168.63.129.16']

/** 64:ff9b::/96: how a network without IPv4 writes addresses of the IPv4 internet. */
const nat64Prefix = [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]

function startsWith(bytes: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte)
}
