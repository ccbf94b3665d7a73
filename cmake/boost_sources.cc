// Asio's and Beast's functions that are no templates, compiled once instead of in every file that includes them.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
